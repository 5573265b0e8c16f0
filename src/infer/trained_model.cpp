#include "infer/trained_model.h"

#include <fmt/format.h>

#include "config/recipe.h"
#include "core/error.h"
#include "core/files.h"
#include "core/name_list.h"
#include "core/secrets.h"
#include "data/datasets/class_count.h"
#include "data/datasets/dataset_factory.h"
#include "infer/auto_precision.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "infer/checkpoint/model_state.h"
#include "infer/precision.h"
#include "infer/pretrained.h"
#include "tensor/device.h"

namespace tessera {

namespace {

Experiment experiment_of(const std::string& yaml, const std::filesystem::path& folder,
                         const std::vector<std::string>& overrides) {
  Node node = parse_config(yaml, (folder / "config.yaml").string());
  // A run made on a GPU machine must open on a laptop too.
  apply_override(node, "train.device=auto");
  apply_words(node, overrides);
  Experiment experiment = read_experiment(node, MissingSecrets::kKeep);
  for (const SecretText& secret : experiment.secrets) {
    // What training began with is no longer needed.
    if (secret.missing.empty() || secret.key == "model.pretrained") continue;
    fail_usage(
        "{}: {} is '{}' and the environment variable {} is not set; a run keeps the names of secret variables, not their "
        "values: export {}=..., or set {}=...",
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

namespace {

// To the device and into the memory layout of the experiment, which is the same for its own weights and for others'.
ModelPtr make_empty(Experiment& experiment, int num_classes, at::Device device) {
  experiment.train.precision = pick_precision(experiment.train.precision, device);
  ModelPtr model = make_model(experiment, num_classes);
  model->to(device, parameter_type(experiment.train.precision));
  return model;
}

void make_ready(const Experiment& experiment, SegmentationModel& model) {
  if (experiment.train.channels_last) use_channels_last(model);
  model.eval();
}

// Only the files of some data sets know their classes.
ClassTable classes_of_data(const DataConfig& data) {
  if (const auto known = known_classes(data)) return *known;
  return make_dataset(data, Split::kVal)->classes();
}

bool is_auxiliary(const std::string& name) {
  return name.starts_with("auxiliary_head.") || name.starts_with("aux_classifier.") || name.starts_with("supervision");
}

void refuse_random_weights(const MatchReport& report, const std::string& file, int num_classes) {
  std::vector<std::string> random, strange;
  for (const MatchRow& row : report.rows) {
    const bool fresh = row.status == MatchStatus::kReinitialised || row.status == MatchStatus::kMissing;
    if (fresh && !is_auxiliary(row.name)) random.push_back(row.name + " (" + row.note + ")");
    if (row.within && !is_auxiliary(row.name)) strange.push_back(row.name);
  }
  TSR_CHECK(
      random.empty(),
      "{}: {} of the model's tensors are not in it or of another shape, so the model would be random there: {}; the config "
      "is for {} classes. Set the model and data.classes as they were when the file was made, or train with it first",
      file, random.size(), name_list(random), num_classes);
  TSR_CHECK(
      strange.empty(),
      "{}: {} of its tensors have no place in the model, which would compute something else without them: {}; set the model "
      "as it was when the file was made",
      file, strange.size(), name_list(strange));
}

}  // namespace

TrainedModel load_configured(const std::filesystem::path& config, const std::vector<std::string>& overrides) {
  Experiment experiment = load_experiment(config, overrides);
  const std::string& given = experiment.model.pretrained;
  TSR_CHECK_USAGE(!given.empty(),
                  "{}: which weights? Set model.pretrained to a file, a run, a URL or a name of `tessera models pretrained`",
                  config.string());
  const at::Device device = pick_device(experiment.train.device);
  ClassTable classes = classes_of_data(experiment.data);
  TSR_CHECK_USAGE(experiment.model.num_classes == 0 || experiment.model.num_classes == classes.size(),
                  "model.num_classes is {}, but the data has {} classes; leave it at 0 to follow the data",
                  experiment.model.num_classes, classes.size());
  ModelPtr model = make_empty(experiment, classes.size(), device);
  refuse_random_weights(load_pretrained(*model, experiment.model, {classes.names, experiment.eval.weights}), given,
                        classes.size());
  make_ready(experiment, *model);
  const std::filesystem::path file = mask_urls(given);
  return {file, experiment, std::move(classes), {}, {}, std::nullopt, false, model, device};
}

TrainedModel load_trained(const std::filesystem::path& given, const std::vector<std::string>& overrides) {
  const std::filesystem::path folder = resolve_checkpoint(given);
  const Checkpoint checkpoint = read_checkpoint(folder, /*with_optimizer=*/false);
  Experiment experiment = experiment_of(checkpoint.config_yaml, folder, overrides);
  const at::Device device = pick_device(experiment.train.device);
  ModelPtr model = make_empty(experiment, checkpoint.classes.size(), device);
  const NamedTensors& weights = weights_to_use(checkpoint, experiment);
  load_model_state(*model, weights);
  make_ready(experiment, *model);
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
  if (!step) return fmt::format("{} with the weights of {}", experiment.model.name, checkpoint.string());
  return fmt::format("{} at step {}{}", checkpoint.string(), *step, averaged ? ", moving average of the weights" : "");
}

}  // namespace tessera
