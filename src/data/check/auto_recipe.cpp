#include "data/check/auto_recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/plural.h"
#include "data/check/crop_choice.h"

namespace tessera {
namespace {

std::string say_turns(const DataFingerprint& data) {
  if (!data.has_up())
    return fmt::format("Top and bottom do not differ ({:.1f} standard errors of {} images): all turns are alike", data.upright,
                       data.looked_at);
  if (data.upright > DataFingerprint::kUpright)
    return fmt::format("Top and bottom differ ({:.1f} standard errors of {} images): mirrored, never turned", data.upright,
                       data.looked_at);
  return fmt::format(
      "So few images ({}) do not say whether top and bottom are alike: mirrored, never turned. Where they are, as under a "
      "microscope, add {{rotate: {{quarter_turns: true, probability: 1}}}} and flip vertically too",
      data.looked_at);
}

void add_transforms(const DataFingerprint& data, const CropChoice& cut, bool per_image, std::vector<CommentedValue>& choices) {
  const bool turns = !data.has_up(), colours = data.channels == 3;
  std::vector<std::string> train;
  std::string reason = cut.crop_reason;
  train.push_back(cut.base > 0 ? fmt::format("{{scale_jitter: {{base: {}, min: 0.5, max: 2.0}}}}", cut.base)
                               : std::string("{scale_jitter: {min: 0.7, max: 1.4}}"));
  if (cut.object_size > 0) {
    train.push_back(fmt::format("{{random_crop: {{size: {}, max_class_share: {:.3g}}}}}", cut.crop, cut.varied_share()));
    reason += ". Where one shows less than half an object, other places are tried";
  } else {
    train.push_back(fmt::format("{{random_crop: {{size: {}}}}}", cut.crop));
  }
  if (turns) train.emplace_back("{rotate: {quarter_turns: true, probability: 1.0}}");
  train.push_back(turns ? "{flip: {horizontal: 0.5, vertical: 0.5}}" : "{flip: {horizontal: 0.5}}");
  reason += ". " + say_turns(data);
  if (!cut.base_reason.empty()) reason += ". Scaled to fit into " + std::to_string(cut.base) + ": " + cut.base_reason;
  if (per_image && data.depth != "8-bit") {
    train.emplace_back("{gamma: {}}");
    reason +=
        ". Gamma acts between an image's own darkest and brightest value, whatever of its depth it uses; brightness and "
        "contrast would only be taken out again";
  } else {
    train.push_back(turns && colours ? "{photometric: {hue: 0}}" : "{photometric: {}}");
    if (turns && colours) reason += ". Hue stays: of stains it means something";
  }
  choices.push_back({"data.train.transforms", fmt::format("[{}]", fmt::join(train, ", ")), reason});
  if (cut.base > 0)
    choices.push_back({"data.val.transforms", fmt::format("[{{resize: {{mode: long, size: {}}}}}]", cut.base),
                       "the size that was trained on; predictions are taken back to each image's own"});
}

// Channels of a stack may have scales of their own, which one mean for all of them would keep apart.
bool normalised_per_image(const DataFingerprint& data, bool pretrained) {
  constexpr double kUneven = 0.7;  // photographs have about half of it
  return !pretrained && data.exposure_spread > kUneven && (data.channels == 1 || data.channels == 3);
}

void add_normalisation(const DataFingerprint& data, bool pretrained, std::vector<CommentedValue>& choices) {
  if (normalised_per_image(data, pretrained)) {
    choices.push_back(
        {"data.normalize.mode", "per_image",
         fmt::format("exposure differs from image to image {:.1f} times as much as within one", data.exposure_spread)});
  } else if (data.depth != "8-bit") {
    choices.push_back(
        {"data.normalize.mode", "auto", fmt::format("{} values: their range is found when the run starts", data.depth)});
  } else if (pretrained) {
    choices.push_back({"data.normalize.mode", "fixed", "ImageNet's mean and deviation, which the weights were trained with"});
  } else {
    choices.push_back({"data.normalize.mode", "fixed", "images are exposed alike"});
    choices.push_back({"data.normalize.mean", fmt::format("[{:.4f}]", fmt::join(data.mean, ", ")), "of the images looked at"});
    std::vector<double> std = data.std;
    for (double& one : std) one = std::max(one, 0.01);
    choices.push_back({"data.normalize.std", fmt::format("[{:.4f}]", fmt::join(std, ", ")), "likewise"});
  }
}

void add_sampler(const DataFingerprint& data, std::vector<CommentedValue>& choices) {
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

void add_model(const DataFingerprint& data, const DeviceFacts& device, bool pretrained, std::vector<CommentedValue>& choices) {
  if (pretrained) {
    choices.push_back({"model.name", "unet_resnet", "photographs: weights of ImageNet know their shapes"});
    choices.push_back({"model.backbone.name", "resnet34", "enough for most data, on any device"});
    choices.push_back({"model.pretrained", "resnet34.imagenet1k_v1", "is on this machine; on others it is fetched"});
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

void add_loss(const DataFingerprint& data, std::vector<CommentedValue>& choices) {
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

void add_batch(const DataFingerprint& data, const CropChoice& cut, std::vector<CommentedValue>& choices) {
  constexpr int64_t kFewSamples = 64, kBatch = 16, kHalf = kBatch / 2;
  constexpr int kMuchMemory = 256;  // crops beyond
  const bool few = data.samples < kFewSamples;
  const int64_t batch = few ? kHalf : kBatch;
  const bool halved = batch > kHalf && cut.crop > kMuchMemory;
  choices.push_back({"train.batch_size", std::to_string(batch),
                     few ? fmt::format("of {} {} only", data.samples, plural(data.samples, "sample"))
                         : "steady gradients; where memory runs out it is computed in smaller passes, with the same result"});
  choices.push_back({"train.norm_group", std::to_string(halved ? kHalf : batch),
                     halved ? fmt::format("samples that share batch-norm statistics: passes can be that small, and {} crops of "
                                          "{} pixels a side have steady ones",
                                          kHalf, cut.crop)
                            : "samples that share batch-norm statistics: the whole batch"});
}

void add_evaluation(const DataFingerprint& data, std::vector<CommentedValue>& choices) {
  constexpr int64_t kTogether = 1 << 20;  // pixels of an image
  const bool small = int64_t{data.largest.height} * data.largest.width <= kTogether;
  choices.push_back({"eval.every", "0.1dur", "ten looks in a run"});
  choices.push_back({"eval.batch_size", data.one_size() && small ? "8" : "1",
                     !data.one_size() ? "images differ in size"
                     : small          ? "all images have one size"
                                      : "one such image is work enough at a time"});
  choices.push_back({"eval.window.size", "auto", "huge images in windows of the crop's size, others whole"});
  choices.push_back({"checkpoint.every", "0.1dur", "with each evaluation"});
}

}  // namespace

std::vector<CommentedValue> choose_recipe(const DataFingerprint& data, const DeviceFacts& device) {
  const bool pretrained = device.pretrained && data.has_up() && data.channels == 3 && data.depth == "8-bit";
  const CropChoice cut = choose_crop(data, device.gpu);
  std::vector<CommentedValue> choices;
  add_transforms(data, cut, normalised_per_image(data, pretrained), choices);
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
  add_batch(data, cut, choices);
  choices.push_back({"train.precision", "auto", "bf16 where this device is faster with it"});
  add_evaluation(data, choices);
  return choices;
}

CommentedValue choose_duration(const DataFingerprint& data, int64_t batch_size, double step_seconds, double seconds) {
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

}  // namespace tessera
