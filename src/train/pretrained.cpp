#include "train/pretrained.h"

#include <torch/types.h>

#include "train/model_state.h"
#include "weights/key_map.h"
#include "weights/load_weights.h"
#include "weights/weight_cache.h"

namespace tessera {
namespace {

const VitConfig* vit_of(const ModelConfig& config) {
  if (config.name == "segmenter") return &config.segmenter;
  return config.name == "upernet_vit" ? &config.upernet_vit : nullptr;
}

// Position embeddings do not say what grid they are for, and it need not be square.
void describe_positions(const ModelConfig& config, const NamedTensors& ours, MatchOptions& options) {
  const VitConfig* vit = vit_of(config);
  if (vit == nullptr) return;
  options.position_fit = vit->position_resize == PositionResize::kBicubic ? PositionFit::kBicubic : PositionFit::kBilinear;
  for (const auto& [name, tensor] : ours) {
    if (!name.ends_with("patch_embed.proj.weight")) continue;
    const int64_t patch = tensor.size(2);
    options.position_grid = {(vit->image_size.height + patch - 1) / patch, (vit->image_size.width + patch - 1) / patch};
  }
}

}  // namespace

MatchReport load_pretrained(SegmentationModel& model, const ModelConfig& config) {
  const std::filesystem::path file = find_weights(config.pretrained);
  const at::NoGradGuard no_grad;
  const NamedTensors ours = model_state(model);
  std::vector<std::string> names;
  for (const auto& entry : ours) names.push_back(entry.first);
  const MappedKeys mapped = map_keys(find_state_dict(read_weights(file)).tensors, names);
  MatchOptions options;
  options.allow_missing = config.allow_missing;
  options.head_prefixes = model.head_prefixes();
  describe_positions(config, ours, options);
  return match_weights(ours, mapped.tensors, options, file.string() + " (" + mapped.family + ")");
}

}  // namespace tessera
