#include "infer/trained_model.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "infer/auto_precision.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "infer/checkpoint/model_state.h"
#include "infer/precision.h"
#include "tensor/device.h"

namespace tessera {

namespace {

Experiment experiment_of(const std::string& yaml, const std::filesystem::path& folder,
                         const std::vector<std::string>& overrides) {
  Node node = parse_config(yaml, (folder / "config.yaml").string());
  // A run made on a GPU machine must open on a laptop too.
  apply_override(node, "train.device=auto");
  for (const std::string& text : overrides) apply_override(node, text);
  Experiment experiment = read_experiment(node, MissingSecrets::kKeep);
  for (const SecretText& secret : experiment.secrets) {
    // What training began with is no longer needed.
    if (secret.missing.empty() || secret.key == "model.pretrained") continue;
    fail_usage(
        "{}: {} is '{}' and the environment variable {} is not set; a run keeps the names of secret variables, not their "
        "values: "
        "export {}=..., or set {}=...",
        (folder / "config.yaml").string(), secret.key, secret.written, secret.missing, secret.missing, secret.key);
  }
  return experiment;
}

}  // namespace

Experiment trained_experiment(const std::filesystem::path& given, const std::vector<std::string>& overrides) {
  const std::filesystem::path folder = resolve_checkpoint(given);
  return experiment_of(read_text(folder / "config.yaml"), folder, overrides);
}

const NamedTensors& weights_to_use(const Checkpoint& checkpoint, const Experiment& experiment) {
  const bool averaged = !checkpoint.average.empty() && experiment.eval.weights == EvalWeights::kAverage;
  return averaged ? checkpoint.average : checkpoint.model;
}

TrainedModel load_trained(const std::filesystem::path& given, const std::vector<std::string>& overrides) {
  const std::filesystem::path folder = resolve_checkpoint(given);
  const Checkpoint checkpoint = read_checkpoint(folder, /*with_optimizer=*/false);
  Experiment experiment = experiment_of(checkpoint.config_yaml, folder, overrides);
  const at::Device device = pick_device(experiment.train.device);
  experiment.train.precision = pick_precision(experiment.train.precision, device);
  ModelPtr model = make_model(experiment, checkpoint.classes.size());
  model->to(device, parameter_type(experiment.train.precision));
  const NamedTensors& weights = weights_to_use(checkpoint, experiment);
  load_model_state(*model, weights);
  if (experiment.train.channels_last) use_channels_last(*model);
  model->eval();
  return {folder,
          experiment,
          checkpoint.classes,
          checkpoint.samples,
          checkpoint.images,
          checkpoint.state.step,
          &weights == &checkpoint.average,
          model,
          device};
}

std::string TrainedModel::title() const {
  return fmt::format("{} at step {}{}", checkpoint.string(), step, averaged ? ", moving average of the weights" : "");
}

}  // namespace tessera
