#include "config/used_lines.h"

#include <algorithm>
#include <array>
#include <map>

namespace tessera {
namespace {

constexpr std::array kWithoutResNet = {"unet", "segmenter", "upernet_vit"};

bool group_is_used(const SchemaLine& group, const Experiment& e, bool untouched) {
  const std::string model = "model.", &key = group.key;
  if (key == "model.backbone")
    return std::find(kWithoutResNet.begin(), kWithoutResNet.end(), e.model.name) == kWithoutResNet.end();
  // Every other group directly below `model` is named after the model that it is for.
  if (key.starts_with(model) && key.find('.', model.size()) == std::string::npos) return key == model + e.model.name;
  if (key == "data.coco") return e.data.type == SourceType::kCoco;
  if (key == "data.synthetic") return e.data.type == SourceType::kSynthetic;
  if (key == "data.records") return in_shards(e.data.type);
  if (key == "data.remote") return e.data.path.find("://") != std::string::npos || !untouched;
  if (key == "data.normalize") return true;  // what every network depends on
  if (key == "train.mixup") return e.train.mixup.chance() > 0;
  if (key == "train.cutmix") return e.train.cutmix.chance() > 0;
  if (key == "train.ema") return e.train.ema.enabled();
  return !untouched || (group.depth == 0 && key != "dist");
}

}  // namespace

std::vector<SchemaLine> used_lines(Experiment& experiment) {
  Experiment untold;
  std::map<std::string, std::string> defaults;
  for (const SchemaLine& line : experiment_lines(untold)) defaults[line.key] = line.value;
  const std::vector<SchemaLine> lines = experiment_lines(experiment);
  const auto untouched = [&](const SchemaLine& group) {
    return std::all_of(lines.begin(), lines.end(), [&](const SchemaLine& line) {
      return !line.key.starts_with(group.key + ".") || line.value == defaults[line.key];
    });
  };
  std::vector<SchemaLine> used;
  std::string left_out;  // the group that is being left out, with its dot
  for (const SchemaLine& line : lines) {
    if (!left_out.empty() && line.key.starts_with(left_out)) continue;
    left_out = line.is_group && !group_is_used(line, experiment, untouched(line)) ? line.key + "." : "";
    if (left_out.empty()) used.push_back(line);
  }
  return used;
}

}  // namespace tessera
