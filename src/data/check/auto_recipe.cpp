#include "data/check/auto_recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tessera {
namespace {

constexpr int kFactor = 32;  // what the sides of crops are multiples of: a U-Net of four heights halves them four times

int round_up(double value) {
  return kFactor * static_cast<int>(std::ceil(value / kFactor));
}

// How images are scaled before they are cut, and the crop.
struct Cut {
  int crop = 0;
  int base = 0;  // images are scaled to fit inside a square of this side; 0: left as they are
  std::string crop_reason, base_reason;
};

Cut choose_cut(const DataFingerprint& data, const DeviceFacts& device) {
  const int least = 192, most = device.gpu ? 512 : 256;
  constexpr double kObjects = 6;  // sides of an object that fit into a crop
  Cut cut;
  const double wanted = kObjects * data.object_size;
  cut.crop = std::clamp(round_up(wanted), least, most);
  constexpr double kLarge = 100;  // pixels: beyond that a crop sees parts of objects
  constexpr int kSmallCrop = 256, kSmallBase = 384;
  const bool large_objects = data.object_size > kLarge && data.long_side() > kSmallBase;
  if (large_objects) {
    cut.crop = kSmallCrop;  // of a smaller picture
    cut.base = kSmallBase;
    cut.base_reason = fmt::format(
        "half of the labelled area lies in regions of more than {:.0f} pixels a side: in smaller images a crop sees what "
        "surrounds "
        "them",
        data.object_size);
  }
  const int room = round_up(cut.base > 0 ? cut.base : data.short_side());
  cut.crop = std::min(cut.crop, room);
  cut.crop_reason =
      large_objects ? fmt::format("crops of {} from images of at most {}; they are {} x {} in the middle", cut.crop, cut.base,
                                  data.median.height, data.median.width)
      : data.object_size > 0
          ? fmt::format(
                "about {:.0f} times an object's side of {:.0f} pixels, between {} and {}; images are {} x {} in the middle",
                kObjects, data.object_size, least, most, data.median.height, data.median.width)
          : fmt::format("between {} and {}; images are {} x {} in the middle", least, most, data.median.height,
                        data.median.width);
  return cut;
}

void add_transforms(const DataFingerprint& data, const Cut& cut, std::vector<Choice>& choices) {
  const bool turns = !data.has_up();
  const bool colours = data.channels == 3;
  std::vector<std::string> train;
  train.push_back(cut.base > 0 ? fmt::format("{{scale_jitter: {{base: {}, min: 0.5, max: 2.0}}}}", cut.base)
                               : std::string("{scale_jitter: {min: 0.7, max: 1.4}}"));
  train.push_back(fmt::format("{{random_crop: {{size: {}, max_class_share: 0.95}}}}", cut.crop));
  if (turns) train.emplace_back("{rotate: {quarter_turns: true, probability: 1.0}}");
  train.push_back(turns ? "{flip: {horizontal: 0.5, vertical: 0.5}}" : "{flip: {horizontal: 0.5}}");
  if (data.depth == "8-bit" && (data.channels == 1 || colours))
    train.push_back(turns && colours ? "{photometric: {hue: 0}}" : "{photometric: {}}");
  const std::string up =
      turns ? fmt::format("top and bottom do not differ ({:.1f} standard errors of {} images): all turns are alike",
                          data.upright, data.looked_at)
      : data.upright > 2.5
          ? fmt::format("top and bottom differ ({:.1f} standard errors of {} images): mirrored, never turned", data.upright,
                        data.looked_at)
          : fmt::format("{} images do not say whether top and bottom are alike: mirrored, never turned", data.looked_at);
  std::string reason = cut.crop_reason + ". " + up;
  if (!cut.base_reason.empty()) reason += ". Scaled to fit into " + std::to_string(cut.base) + ": " + cut.base_reason;
  if (turns && colours) reason += ". Hue stays: of stains it means something";
  choices.push_back({"data.train.transforms", fmt::format("[{}]", fmt::join(train, ", ")), reason});
  if (cut.base > 0)
    choices.push_back({"data.val.transforms", fmt::format("[{{resize: {{mode: long, size: {}}}}}]", cut.base),
                       "the size that was trained on; predictions are taken back to each image's own"});
}

void add_normalisation(const DataFingerprint& data, bool pretrained, std::vector<Choice>& choices) {
  if (data.depth != "8-bit") {
    choices.push_back(
        {"data.normalize.mode", "auto", fmt::format("{} values: their range is found when the run starts", data.depth)});
  } else if (pretrained) {
    choices.push_back({"data.normalize.mode", "fixed", "ImageNet's mean and deviation, which the weights were trained with"});
  } else if (data.exposure_spread > 1) {
    choices.push_back(
        {"data.normalize.mode", "per_image",
         fmt::format("exposure differs from image to image {:.1f} times as much as within one", data.exposure_spread)});
  } else {
    choices.push_back({"data.normalize.mode", "fixed", "images are exposed alike"});
    choices.push_back({"data.normalize.mean", fmt::format("[{:.4f}]", fmt::join(data.mean, ", ")), "of the images looked at"});
    std::vector<double> std = data.std;
    for (double& one : std) one = std::max(one, 0.01);
    choices.push_back({"data.normalize.std", fmt::format("[{:.4f}]", fmt::join(std, ", ")), "likewise"});
  }
}

void add_sampler(const DataFingerprint& data, std::vector<Choice>& choices) {
  constexpr double kRare = 0.1;
  constexpr int64_t kEnough = 100;
  std::vector<std::string> rare;
  for (const auto& one : data.classes) {
    if (one.images > 0 && one.images < kRare) rare.push_back(one.name);
  }
  if (rare.empty() || data.samples < kEnough) return;
  choices.push_back(
      {"data.sampler", "balanced",
       fmt::format("{} of {} classes show in less than a tenth of the images", rare.size(), data.classes.size())});
  choices.push_back({"data.balance.strength", "0.5", "the other half of the draws keeps the mixture of the data"});
  choices.push_back({"data.balance.temperature", "0.1", "rare classes more often, common ones still"});
}

void add_model(const DataFingerprint& data, const DeviceFacts& device, bool pretrained, std::vector<Choice>& choices) {
  if (pretrained) {
    choices.push_back({"model.name", "unet_resnet", "photographs: weights of ImageNet know their shapes"});
    choices.push_back({"model.backbone.name", "resnet34", "enough for most data, on any device"});
    choices.push_back({"model.pretrained", "resnet34.imagenet1k_v1", "is on this machine"});
    return;
  }
  const bool photographs = data.has_up() && data.channels == 3 && data.depth == "8-bit";
  choices.push_back(
      {"model.name", "unet",
       photographs ? "from scratch; after `tessera models fetch resnet34.imagenet1k_v1` it would start from ImageNet's weights"
                   : "from scratch: ImageNet's weights know other pictures"});
  const std::string width = device.gpu ? "wide: there is a GPU" : "narrow: it computes on a CPU";
  choices.push_back({"model.unet.channels", device.gpu ? "[32, 64, 128, 256]" : "[16, 32, 64, 128]", width});
  choices.push_back({"model.unet.bottleneck", device.gpu ? "512" : "128", width});
}

void add_loss(const DataFingerprint& data, std::vector<Choice>& choices) {
  double least = 1, most = 0;
  for (const auto& one : data.classes) {
    if (one.pixels > 0) least = std::min(least, one.pixels);
    most = std::max(most, one.pixels);
  }
  const double imbalance = least > 0 ? most / least : 1;
  choices.push_back({"loss.terms", data.multi_label ? "[bce, dice]" : "[ce, dice]",
                     data.multi_label
                         ? "classes overlap: each has a probability of its own; Dice looks at whole classes"
                         : "cross entropy learns fast, Dice looks at whole classes, the rare ones as much as the others"});
  // Weights raise the recall of rare classes and lower their precision: where Dice is there they cost more than they bring,
  // unless a class nearly drowns.
  constexpr double kDrowning = 100;
  constexpr size_t kFew = 8;
  if (!data.multi_label && imbalance > kDrowning && data.classes.size() <= kFew)
    choices.back() = {
        "loss.terms", "[{ce: {class_weights: {effective_number: {}}}}, dice]",
        fmt::format("the rarest class has {:.0f} times fewer pixels than the commonest: cross entropy is weighted by "
                    "images, and Dice looks at whole classes",
                    imbalance)};
}

}  // namespace

std::vector<Choice> choose_recipe(const DataFingerprint& data, const DeviceFacts& device) {
  const bool pretrained = device.pretrained && data.has_up() && data.channels == 3 && data.depth == "8-bit";
  const Cut cut = choose_cut(data, device);
  const int64_t batch = data.samples < 64 ? 8 : 16;
  std::vector<Choice> choices;
  add_transforms(data, cut, choices);
  add_normalisation(data, pretrained, choices);
  add_sampler(data, choices);
  add_model(data, device, pretrained, choices);
  add_loss(data, choices);
  choices.push_back({"optimizer.type", "adamw", "needs the least tuning"});
  choices.push_back(
      {"optimizer.lr", pretrained ? "0.0005" : "0.002", pretrained ? "the weights are good already" : "from scratch"});
  choices.push_back({"optimizer.weight_decay", "0.01", "AdamW's usual one"});
  choices.push_back({"optimizer.clip_norm", "1", "one odd batch does no harm"});
  choices.push_back({"schedule.type", "cosine", "falls to nothing at the end, whatever the length"});
  choices.push_back({"schedule.warmup", "0.05dur", "AdamW's first steps are uncertain"});
  choices.push_back({"train.batch_size", std::to_string(batch),
                     data.samples < 64
                         ? fmt::format("there are {} samples only", data.samples)
                         : "samples share batch-norm statistics; memory is no limit: passes get smaller where it runs out"});
  choices.push_back({"train.norm_group", std::to_string(batch), "the whole batch"});
  choices.push_back({"train.precision", "auto", "bf16 where this device is faster with it"});
  choices.push_back({"eval.every", "0.1dur", "ten looks in a run"});
  choices.push_back(
      {"eval.batch_size", data.one_size() ? "8" : "1", data.one_size() ? "all images have one size" : "images differ in size"});
  choices.push_back({"eval.window.size", "auto", "huge images in windows of the crop's size, others whole"});
  choices.push_back({"checkpoint.every", "0.1dur", "with each evaluation"});
  return choices;
}

Choice choose_duration(const DataFingerprint& data, int64_t batch_size, double step_seconds, double seconds) {
  constexpr double kEpochs = 60, kFewest = 1500, kMost = 30000, kAtLeast = 200;
  const double by_data =
      std::clamp(kEpochs * static_cast<double>(data.samples) / static_cast<double>(batch_size), kFewest, kMost);
  const double by_time = std::max(kAtLeast, seconds / step_seconds);
  const double steps = std::floor(std::min(by_data, by_time));
  const std::string took =
      fmt::format("a step took {:.3g} s here, so about {:.0f} min", step_seconds, std::ceil(steps * step_seconds / 60));
  return {"train.duration", fmt::format("{:.0f}ba", steps),
          by_time < by_data ? fmt::format("{}; the data would bear {:.0f}", took, by_data)
                            : fmt::format("{:.0f} looks at each of {} samples, {:.0f} to {:.0f} steps; {}", kEpochs,
                                          data.samples, kFewest, kMost, took)};
}

namespace {

// A reason as comment lines of at most 110 columns.
std::string comment(const std::string& reason, const std::string& indent) {
  constexpr size_t kWidth = 110;
  std::istringstream words(reason);
  std::string text, line = indent + "#", word;
  while (words >> word) {
    if (line.size() + 1 + word.size() > kWidth) {
      text += line + "\n";
      line = indent + "#";
    }
    line += " " + word;
  }
  return text + line + "\n";
}

struct Tree {
  std::string name, value, reason;
  std::vector<Tree> below;

  Tree& child(const std::string& wanted) {
    for (Tree& one : below) {
      if (one.name == wanted) return one;
    }
    return below.emplace_back(Tree{wanted, "", "", {}});
  }
  std::string text(const std::string& indent) const {
    std::string all;
    for (const Tree& one : below) {
      if (!one.reason.empty()) all += comment(one.reason, indent);
      all += indent + one.name + (one.below.empty() ? ": " + one.value : ":") + "\n" + one.text(indent + "  ");
    }
    return all;
  }
};

}  // namespace

std::string commented_config(const std::vector<Choice>& choices) {
  Tree root;
  for (const Choice& choice : choices) {
    Tree* at = &root;
    for (size_t begin = 0; begin <= choice.key.size();) {
      const size_t end = std::min(choice.key.find('.', begin), choice.key.size());
      at = &at->child(choice.key.substr(begin, end - begin));
      begin = end + 1;
    }
    at->value = choice.value;
    at->reason = choice.reason;
  }
  return root.text("");
}

}  // namespace tessera
