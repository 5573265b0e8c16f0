#include "train/run_origin.h"

#include <xxhash.h>

#include "core/error.h"
#include "core/files.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "kernels/update/loss_scaling.h"
#include "train/resume_check.h"
#include "train/run_folder.h"

namespace tessera {
namespace {

void check_optimizer(const fs::path& from, const Experiment& before, const Experiment& now) {
  const OptimizerType was = before.optimizer.type, is = now.optimizer.type;
  if (was != is)
    fail_usage(
        "--from {}: its optimizer is {} and this config's {}, which cannot go on with the other's state; set "
        "optimizer.type={}, or {}",
        from.string(), name_of(was), name_of(is), name_of(was), instead_of_going_on(from));
}

std::vector<std::string> changes_between(const Checkpoint& checkpoint, const Experiment& now, const SampleNames& samples) {
  std::vector<std::string> changes;
  for (const ConfigChange& change : config_changes(checkpoint.config_yaml, now)) {
    if (!change.key.starts_with("run.")) changes.push_back(change.text());
  }
  const auto add = [&](const char* what, int64_t before, const std::string& hash, int64_t count, const std::string& now_hash) {
    if (!hash.empty() && hash != now_hash)
      changes.push_back(
          fmt::format("{} images: {} in the run, {} now{}", what, before, count, before == count ? ", but not the same" : ""));
  };
  add("training", checkpoint.samples.train, checkpoint.samples.train_hash, samples.train, samples.train_hash);
  add("validation", checkpoint.samples.val, checkpoint.samples.val_hash, samples.val, samples.val_hash);
  return changes;
}

}  // namespace

std::string instead_of_going_on(const fs::path& from) {
  return fmt::format("leave --from out and begin a new run with its weights: model.pretrained={}", from.string());
}

void check_origin_is_another(const fs::path& from, const Experiment& experiment) {
  const fs::path folder = run_folder(experiment);
  std::error_code error;
  for (fs::path at = fs::absolute(from).lexically_normal(); at.has_relative_path(); at = at.parent_path()) {
    if (fs::equivalent(at, folder, error))
      fail_usage("--from goes on in a new run folder, and {} is that of the run itself; set run.name or run.dir to another",
                 folder.string());
  }
}

OriginCheckpoint load_origin(const fs::path& from, const Experiment& experiment, const SampleNames& samples) {
  auto [path, checkpoint] = load_newest(from);
  const Experiment before =
      read_experiment(parse_config(checkpoint.config_yaml, (path / "config.yaml").string()), MissingSecrets::kKeep);
  check_optimizer(from, before, experiment);
  TrainState& state = checkpoint.state;
  RunOrigin origin{
      .checkpoint = fs::absolute(path).lexically_normal().string(),
      .step = state.step,
      .config_hash = fmt::format("{:016x}", XXH3_64bits(checkpoint.config_yaml.data(), checkpoint.config_yaml.size())),
      .changes = changes_between(checkpoint, experiment, samples)};
  state.evaluated_step = state.best_step = -1;
  state.best_value.reset();
  state.evals_since_best = 0;
  if (experiment.train.precision == Precision::kFp16 && before.train.precision != Precision::kFp16) {  // it had no scale
    state.loss_scale = LossScaling{}.scale;
    state.loss_scale_good_steps = 0;
  }
  if (!experiment.train.ema.enabled()) checkpoint.average.clear();
  return {std::move(origin), std::move(checkpoint)};
}

}  // namespace tessera
