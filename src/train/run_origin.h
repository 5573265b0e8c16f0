#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "infer/checkpoint/checkpoint.h"

namespace tessera {

// Note [Going on]
// With RunOptions::from a run begins where another one stands: with its weights, optimizer state, moving average, loss scale
// and step, and so at its place in the order of samples, which is a function of the step. Everything that this state does not
// belong to may differ: length, rate, schedule, loss, data, device, precision. Where nothing differs but the length, and the
// schedule does not depend on it, the run ends in the bits of one that was as long from the start. The model and the kind of
// optimizer may not differ; model.pretrained is for that. What the other run's evaluations found does not count, as it may have
// been measured otherwise. The new run saves the step it begins with before it takes another: from then on its folder is whole,
// is resumed like any other, and the run it came from may go.

// What a run went on from, for its environment.json and log.jsonl.
struct RunOrigin {
  std::string checkpoint;            // absolute
  int64_t step = 0;                  // that it stands at
  std::string config_hash;           // xxh3 of its config.yaml
  std::vector<std::string> changes;  // "optimizer.lr: 0.01 in the run, 0.001 now"
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunOrigin, checkpoint, step, config_hash, changes)

// A checkpoint to go on from: its state is that of a run which has not been evaluated yet.
struct OriginCheckpoint {
  RunOrigin origin;
  Checkpoint checkpoint;
};

// The newest checkpoint of the run `from`, or `from` itself. Throws UsageError where the experiment's optimizer is of another
// kind than the checkpoint's, or where `from` is the run that the experiment itself would write.
OriginCheckpoint load_origin(const std::filesystem::path& from, const Experiment& experiment, const SampleNames& samples);

// Throws UsageError where going on from `from` would write to that run itself.
void check_origin_is_another(const std::filesystem::path& from, const Experiment& experiment);

// What else there is for a run that cannot go on from `from`; the end of an error's sentence.
std::string instead_of_going_on(const std::filesystem::path& from);

}  // namespace tessera
