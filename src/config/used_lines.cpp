#include "config/used_lines.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array kWithoutResNet = {"unet", "segmenter", "upernet_vit"};

bool group_is_used(const std::string& key, const Experiment& e) {
  const std::string model = "model.";
  if (key == "model.backbone")
    return std::find(kWithoutResNet.begin(), kWithoutResNet.end(), e.model.name) == kWithoutResNet.end();
  // Every other group directly below `model` is named after the model that it is for.
  if (key.starts_with(model) && key.find('.', model.size()) == std::string::npos) return key == model + e.model.name;
  if (key == "data.labels") return e.data.type == SourceType::kPairs;
  if (key == "data.coco") return e.data.type == SourceType::kCoco;
  if (key == "data.synthetic") return e.data.type == SourceType::kSynthetic;
  if (key == "train.mixup") return e.train.mixup.chance() > 0;
  if (key == "train.cutmix") return e.train.cutmix.chance() > 0;
  if (key == "train.ema") return e.train.ema.enabled();
  return true;
}

}  // namespace

std::vector<SchemaLine> used_lines(Experiment& experiment) {
  std::vector<SchemaLine> used;
  std::string left_out;  // the group that is being left out, with its dot
  for (const SchemaLine& line : experiment_lines(experiment)) {
    if (!left_out.empty() && line.key.starts_with(left_out)) continue;
    left_out = line.is_group && !group_is_used(line.key, experiment) ? line.key + "." : "";
    if (left_out.empty()) used.push_back(line);
  }
  return used;
}

}  // namespace tessera
