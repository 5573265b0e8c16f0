#include "config/experiment.h"

#include <algorithm>
#include <numeric>

#include "config/builtin_configs.h"
#include "config/frozen_part.h"
#include "config/plane_choice.h"
#include "config/reader.h"
#include "config/recipe.h"
#include "core/class_bits.h"
#include "core/plural.h"

namespace tessera {

template <class V>
void describe(V& v, Experiment& c) {
  v.field("recipe", c.recipe, kRecipeHelp);
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
  v.group("guard", c.guard, "when the numbers of a step go wrong");
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

Node compose(const std::filesystem::path& file, const std::vector<std::string>& overrides, const Node* made_recipe) {
  Node root;
  root.kind = Node::Kind::kMap;
  if (!file.empty()) root = load_config(file);
  apply_words(root, overrides, made_recipe);
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

namespace {

void fit_normalize_defaults(DataConfig& data) {
  const NormalizeConfig rgb, fitting = default_normalize(data.channels);
  if (data.normalize.mean == rgb.mean) data.normalize.mean = fitting.mean;
  if (data.normalize.std == rgb.std) data.normalize.std = fitting.std;
}

void check_normalize(const NormalizeConfig& c, int64_t channels) {
  const auto fits = [&](const std::vector<double>& list) {
    return list.size() == 1 || static_cast<int64_t>(list.size()) == channels;
  };
  const auto mean = static_cast<int64_t>(c.mean.size()), std_count = static_cast<int64_t>(c.std.size());
  if (!fits(c.mean) || !fits(c.std)) {
    fail_usage("data.normalize has {} {} and {} {}; expected one of each{} (data.channels is {})", mean, plural(mean, "mean"),
               std_count, plural(std_count, "std"), channels == 1 ? "" : fmt::format(", or {}", channels), channels);
  }
  if (c.low >= c.high) fail_usage("data.normalize.low {} is not below high {}", c.low, c.high);
  if (c.mode != NormalizeMode::kRange) return;
  if (!fits(c.low_value) || !fits(c.high_value)) {
    fail_usage(
        "data.normalize.mode=range has {} low_value and {} high_value; expected one of each{} (data.channels is {}): the "
        "values of the files that become 0 and 1. data.normalize.mode=auto finds them",
        c.low_value.size(), c.high_value.size(), channels == 1 ? "" : fmt::format(", or {}", channels), channels);
  }
  for (size_t k = 0; k < std::max(c.low_value.size(), c.high_value.size()); ++k) {
    const double low = c.low_value[c.low_value.size() == 1 ? 0 : k], high = c.high_value[c.high_value.size() == 1 ? 0 : k];
    if (!(low < high)) fail_usage("data.normalize.low_value {} is not below high_value {} (channel {})", low, high, k);
  }
}

}  // namespace

Experiment read_experiment(const Node& node, MissingSecrets missing) {
  Node resolved = node;
  Experiment experiment;
  experiment.secrets = resolve_environment(resolved, missing);
  ConfigReader::read_struct(resolved, "", experiment);
  if (!experiment.recipe.empty())
    fail_usage("{}: recipe '{}' is laid over a config that is read from its file", resolved.find("recipe")->origin.text(),
               experiment.recipe);
  const Node* terms = resolved.find("loss") != nullptr ? resolved.find("loss")->find("terms") : nullptr;
  if (experiment.data.labels.multi && (terms == nullptr || terms->kind == Node::Kind::kNull))
    experiment.loss.terms = {BinaryCrossEntropyConfig{}, DiceConfig{}};
  const Node* optimizer = resolved.find("optimizer");
  const Node* betas = optimizer != nullptr ? optimizer->find("betas") : nullptr;
  if (experiment.optimizer.type == OptimizerType::kLion && (betas == nullptr || betas->kind == Node::Kind::kNull))
    experiment.optimizer.betas = {0.9, 0.99};
  if (const Node* loss = resolved.find("loss")) apply_loss_aliases(*loss, experiment.loss.terms);
  fit_normalize_defaults(experiment.data);
  validate(experiment);
  experiment.loss.aux_weight = aux_weight_of(experiment);  // so that a run's own config.yaml says which it was
  return experiment;
}

NormalizeConfig default_normalize(int64_t channels) {
  NormalizeConfig config;
  if (channels == 3) return config;
  config.mean = {0.449};  // the average of the three, as timm takes it for grey images
  config.std = {0.226};
  return config;
}

double aux_weight_of(const Experiment& experiment) {
  const ModelConfig& model = experiment.model;
  if (supervised_heights(model) > 0) return experiment.loss.aux_weight.value_or(0.5);
  const HeadLayout layout = model.name == "deeplabv3" ? model.deeplabv3.layout
                            : model.name == "fcn"     ? model.fcn.layout
                                                      : HeadLayout::kMmseg;
  return experiment.loss.aux_weight.value_or(layout == HeadLayout::kTorchvision ? 0.5 : 0.4);
}

std::vector<double> output_weights(const Experiment& experiment, size_t num_aux) {
  const double aux = aux_weight_of(experiment);
  std::vector<double> weights{1};
  for (size_t i = 0; i < num_aux; ++i) weights.push_back(weights.back() * aux);
  if (supervised_heights(experiment.model) == 0) return weights;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
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

namespace {

void check_supervision(const char* model, int64_t supervised, size_t heights) {
  if (supervised >= static_cast<int64_t>(heights))
    fail_usage("model.{}.deep_supervision is {}, but below the top height the decoder has {} of them; expected at most that",
               model, supervised, heights - 1);
}

// Which keys of data go with data.labels.multi.
void check_multi_label(const DataConfig& data) {
  const LabelConfig& labels = data.labels;
  if (!labels.multi) {
    if (labels.missing != MissingMask::kError)
      fail_usage("data.labels.missing={} is for data.labels.multi, where each class has a mask of its own; remove it",
                 name_of(labels.missing));
    return;
  }
  const auto refuse = [](bool given, const char* key) {
    if (given)
      fail_usage(
          "data.labels.{} and data.labels.multi: in a mask of one class 0 is off and everything else on; remove data.labels.{}",
          key, key);
  };
  refuse(labels.binary, "binary");
  refuse(labels.offset != 0, "offset");
  refuse(!labels.map.empty(), "map");
  refuse(!labels.colors.empty(), "colors");
  if (data.classes.size() > static_cast<size_t>(kMaxMultiLabelClasses))
    fail_usage("data.classes names {} classes; with data.labels.multi there may be at most {}", data.classes.size(),
               kMaxMultiLabelClasses);
  for (const std::string& name : data.classes) {
    if (name == "ignore" || name == "void")
      fail_usage("data.classes has '{}': with data.labels.multi masks of this name say which pixels to ignore; remove it",
                 name);
  }
}

void check_averages(const TrainConfig& t) {
  if (t.ema.half_life.value > 0 && t.ema.smoothing > 0)
    fail_usage("train.ema.half_life is {} and train.ema.smoothing {}; one follows from the other, set one",
               t.ema.half_life.text(), t.ema.smoothing);
  if (t.ema.smoothing >= 1) fail_usage("train.ema.smoothing is 1: the average would never change; expected less, e.g. 0.999");
  if (t.ema.update_interval.value == 0) fail_usage("train.ema.update_interval is 0; expected at least one batch: 1ba, 10ba");
  if (t.swa.update_interval.value == 0) fail_usage("train.swa.update_interval is 0; expected at least one batch: 1ba, 1ep");
  if (t.ema.enabled() && t.swa.enabled())
    fail_usage(
        "train.ema and train.swa are both on; evaluation can use one average of the weights: set train.swa.start=0ba or no "
        "train.ema");
}

void check_growth(const ProgressiveResizingConfig& c) {
  if (c.enabled() && c.delay_fraction + c.finetune_fraction > 1)
    fail_usage(
        "train.progressive_resizing.delay_fraction {} and finetune_fraction {} add up to more than 1; images grow in between",
        c.delay_fraction, c.finetune_fraction);
}

}  // namespace

void validate(const Experiment& e) {
  const TrainConfig& t = e.train;
  check_terms(e.loss, e.data.labels.multi);
  check_multi_label(e.data);
  if (e.eval.threshold != 0.5 && logit_kind(e.loss, e.data.labels.multi) == LogitKind::kSoftmax)
    fail_usage(
        "eval.threshold is {}, but this model gives each pixel the likeliest of its classes; it is for data.labels.multi, or "
        "two classes with bce in loss.terms",
        e.eval.threshold);
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
  check_supervision("unet", e.model.unet.deep_supervision, heights);
  check_supervision("unet_resnet", e.model.unet_resnet.deep_supervision, e.model.unet_resnet.channels.size());
  if (e.model.unet.deep_supervision > 0 && e.model.unet.padding == ConvPadding::kValid)
    fail_usage(
        "model.unet.deep_supervision needs padding: same; with valid the heights of the decoder see different parts of an "
        "image");
  parse_plane_choice("data.image.z", e.data.image.z);
  parse_plane_choice("data.image.t", e.data.image.t);
  check_normalize(e.data.normalize, e.data.channels);
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
  check_averages(t);
  check_growth(t.progressive_resizing);
  for (const std::string& part : e.model.freeze) parse_frozen_part(part);
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
