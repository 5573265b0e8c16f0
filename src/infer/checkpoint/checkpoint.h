#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "config/dist_config.h"
#include "core/access.h"
#include "core/image.h"
#include "data/check/image_look.h"
#include "infer/checkpoint/sample_names.h"
#include "weights/formats/safetensors.h"

namespace tessera {

// How gradients travel between the ranks where that was measured at the start of the run (--autotune-comm). Compression
// rounds, so it belongs to the run like a setting.
struct ExchangeChoice {
  double bucket_mb = 0;
  Compression compression = Compression::kNone;
};

// Where a run stands between two steps. Everything else of a run is a function of this, the config and the data.
struct TrainState {
  int64_t step = 0;             // optimizer steps done
  int64_t evaluated_step = -1;  // last step that was evaluated
  int64_t best_step = -1;
  std::optional<double> best_value = {};  // of checkpoint.best_metric; none before an evaluation found one
  int64_t evals_since_best = 0;
  double loss_scale = 1;
  int64_t loss_scale_good_steps = 0;
  int64_t optimizer_steps = 0;
  int64_t skipped_steps = 0;             // of the run, whose gradients were not finite; fp16: or overflowed
  std::vector<int64_t> lost_steps = {};  // of the last 100 steps: left out, or gone back from
  double seconds = 0;                    // spent training so far
  std::optional<ExchangeChoice> exchange = {};

  // The evaluation of this step found `value`: the best so far, or one more evaluation without a better one. NaN, where nothing
  // could be measured, is never the best.
  void note_metric(double value);
};

nlohmann::json to_json(const TrainState& state);
TrainState state_from_json(const nlohmann::json& json);  // throws for one that is not whole

// Note [Checkpoint]
// A folder `step-00001200` with model.safetensors, optimizer.safetensors, ema.safetensors where there is a moving average,
// state.json (TrainState, classes, samples, images), config.yaml (the resolved experiment) and, written last, DONE: the size
// and xxh3 of each file. It is written under another name (.writing-step-...), flushed and renamed, so a folder of that name is
// whole or, if the disk failed, found out by its hashes. A step is saved before it is evaluated: what the evaluation made of
// the TrainState is then added as evaluated.json, with its own hash. Where that is missing or damaged the step counts as not
// evaluated.
struct Checkpoint {
  NamedTensors model;      // parameters and buffers by name
  NamedTensors optimizer;  // flat state arenas; empty when loaded for inference only
  NamedTensors average;    // parameters and buffers by name; empty without a moving average, or before it begins
  TrainState state;
  ClassTable classes;
  std::string config_yaml;
  SampleNames samples = {};
  ImageFacts images = {};  // of the training images; not known of older ones
};

std::string checkpoint_name(int64_t step);

// Writes `folder`, making those above it if they are gone. Throws Error; then nothing of that name is left and no other
// checkpoint is touched.
void write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint, Access access = Access::kUmask);

// Adds where the run stands after the evaluation of this step to a complete checkpoint. Throws Error.
void write_evaluated(const std::filesystem::path& folder, const TrainState& state, Access access = Access::kUmask);

// Removes what processes that were killed while they saved left in a folder of checkpoints. Only for who alone writes there.
void remove_checkpoint_drafts(const std::filesystem::path& checkpoints);

// Checks the hashes, then reads. Throws Error saying which file is missing or damaged.
Checkpoint read_checkpoint(const std::filesystem::path& folder, bool with_optimizer = true);

bool is_complete_checkpoint(const std::filesystem::path& folder);

}  // namespace tessera
