#include "config/experiment.h"

#include "config/builtin_configs.h"
#include "config/reader.h"
#include "core/plural.h"

namespace tessera {

template <class V>
void describe(V& v, Experiment& c) {
  v.group("run", c.run, "where results go");
  v.group("data", c.data, "samples, their labels and their way into a batch");
  v.group("model", c.model, "the network");
  v.group("loss", c.loss, "what is minimised");
  v.group("optimizer", c.optimizer, "how weights are updated");
  v.group("schedule", c.schedule, "the learning rate over time");
  v.group("train", c.train, "length, batch, precision, device");
  v.group("eval", c.eval, "how predictions are made and measured");
  v.group("checkpoint", c.checkpoint, "what is saved, and when to stop early");
  v.group("dist", c.dist, "several ranks: how they share the work");
}

namespace {

// The bottleneck of a base was chosen for its channels: where a later layer sets others, it follows them as if nobody had set
// it.
void drop_stale_bottleneck(Node& root) {
  Node* model = root.find("model");
  Node* unet = model != nullptr ? model->find("unet") : nullptr;
  const Node* channels = unet != nullptr ? unet->find("channels") : nullptr;
  const Node* bottleneck = unet != nullptr ? unet->find("bottleneck") : nullptr;
  if (channels == nullptr || channels->kind == Node::Kind::kNull || bottleneck == nullptr) return;
  if (bottleneck->origin.layer < channels->origin.layer)
    std::erase_if(unet->map, [](const auto& entry) { return entry.first == "bottleneck"; });
}

// What a run is called unless somebody says.
std::string name_of_config(const std::filesystem::path& file) {
  const std::string name = file.stem().string();
  return name.starts_with(kBuiltinPrefix) ? name.substr(std::string_view(kBuiltinPrefix).size()) : name;
}

}  // namespace

Node compose(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  Node root;
  root.kind = Node::Kind::kMap;
  if (!file.empty()) root = load_config(file);
  for (const std::string& override_text : overrides) apply_override(root, override_text);
  drop_stale_bottleneck(root);
  const Node* run = root.find("run");
  const Node* name = run != nullptr ? run->find("name") : nullptr;
  const bool named =
      name != nullptr && name->kind != Node::Kind::kNull && !(name->kind == Node::Kind::kScalar && name->scalar.empty());
  if (!file.empty() && !named) {
    Node stem;
    stem.kind = Node::Kind::kScalar;
    stem.scalar = name_of_config(file);
    stem.origin = {"name of the config file", 0};
    Node group, top;
    group.kind = top.kind = Node::Kind::kMap;
    group.map.emplace_back("name", stem);
    top.map.emplace_back("run", group);
    merge(root, top);
  }
  return root;
}

Experiment read_experiment(const Node& node, MissingSecrets missing) {
  Node resolved = node;
  Experiment experiment;
  experiment.secrets = resolve_environment(resolved, missing);
  ConfigReader::read_struct(resolved, "", experiment);
  if (const Node* loss = resolved.find("loss")) apply_loss_aliases(*loss, experiment.loss.terms);
  validate(experiment);
  experiment.loss.aux_weight = aux_weight_of(experiment);  // so that a run's own config.yaml says which it was
  return experiment;
}

double aux_weight_of(const Experiment& experiment) {
  const ModelConfig& model = experiment.model;
  const HeadLayout layout = model.name == "deeplabv3" ? model.deeplabv3.layout
                            : model.name == "fcn"     ? model.fcn.layout
                                                      : HeadLayout::kMmseg;
  return experiment.loss.aux_weight.value_or(layout == HeadLayout::kTorchvision ? 0.5 : 0.4);
}

Experiment load_experiment(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  return read_experiment(compose(file, overrides));
}

std::vector<SchemaLine> experiment_lines(Experiment& experiment) {
  return ConfigWriter::lines(experiment, experiment.secrets);
}

std::string experiment_yaml(const Experiment& experiment) {
  Experiment copy = experiment;
  return to_yaml(experiment_lines(copy));
}

void validate(const Experiment& e) {
  const TrainConfig& t = e.train;
  check_terms(e.loss);
  if (e.optimizer.lr_scaling != LrScaling::kNone && e.optimizer.base_batch == 0)
    fail_usage("optimizer.lr_scaling={} needs optimizer.base_batch, the global batch that optimizer.lr was chosen for",
               name_of(e.optimizer.lr_scaling));
  const size_t heights = e.model.unet.channels.size(), convs = e.model.unet.convs.size();
  if (heights == 0) fail_usage("model.unet.channels is empty; expected one number per height, e.g. [32, 64, 128, 256]");
  if (convs != 1 && convs != heights + 1) {
    fail_usage(
        "model.unet.convs has {} numbers; expected 1, or {} (one per height of model.unet.channels and one for the bottleneck)",
        convs, heights + 1);
  }
  const auto mean = static_cast<int64_t>(e.data.normalize.mean.size()), channels = e.data.channels;
  const auto std_count = static_cast<int64_t>(e.data.normalize.std.size());
  if ((mean != 1 && mean != channels) || (std_count != 1 && std_count != channels)) {
    fail_usage("data.normalize has {} {} and {} {}; expected one of each{} (data.channels is {})", mean, plural(mean, "mean"),
               std_count, plural(std_count, "std"), channels == 1 ? "" : fmt::format(", or {}", channels), channels);
  }
  if (e.data.normalize.low >= e.data.normalize.high)
    fail_usage("data.normalize.low {} is not below high {}", e.data.normalize.low, e.data.normalize.high);
  const double mixup = t.mixup.chance(), cutmix = t.cutmix.chance();
  if (mixup + cutmix > 1)
    fail_usage(
        "train.mixup.probability {} and train.cutmix.probability {} add up to more than 1; a sample is mixed in one way at "
        "most",
        mixup, cutmix);
  if (mixup + cutmix > 0 && t.batch_size < 2)
    fail_usage("train.mixup and train.cutmix mix samples of a batch; train.batch_size {} has no other one", t.batch_size);
  if (t.duration.unit == Duration::Unit::kShare)
    fail_usage("train.duration is {}; expected epochs or batches: 30ep, 20000ba", t.duration.text());
  if (t.ema.half_life.value > 0 && t.ema.smoothing > 0)
    fail_usage("train.ema.half_life is {} and train.ema.smoothing {}; one follows from the other, set one",
               t.ema.half_life.text(), t.ema.smoothing);
  if (t.ema.smoothing >= 1) fail_usage("train.ema.smoothing is 1: the average would never change; expected less, e.g. 0.999");
  if (t.ema.update_interval.value == 0) fail_usage("train.ema.update_interval is 0; expected at least one batch: 1ba, 10ba");
  if (e.eval.scales.empty()) fail_usage("eval.scales is empty; expected at least one scale: [1]");
  const auto check_window = [](int size, int stride) {
    if (size > 0 && stride > size)
      fail_usage(
          "expected eval.window.stride of at most eval.window.size, got {} and {}: pixels between windows would have no class",
          stride, size);
  };
  check_window(e.eval.window.size.height, e.eval.window.stride.height);
  check_window(e.eval.window.size.width, e.eval.window.stride.width);
  if (t.duration.value == 0) fail_usage("train.duration is 0; expected at least one batch");
}

}  // namespace tessera
