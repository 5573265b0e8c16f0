#include "infer/pretrained.h"

#include <torch/types.h>

#include "core/files.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "infer/checkpoint/model_state.h"
#include "infer/trained_model.h"
#include "nn/backbones/vit.h"
#include "weights/fetch/weight_cache.h"
#include "weights/formats/load_weights.h"
#include "weights/maps/key_map.h"

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
  options.position_fit = position_fit(vit->position_resize);
  for (const auto& [name, tensor] : ours) {
    if (!name.ends_with("patch_embed.proj.weight")) continue;
    const int64_t patch = tensor.size(2);
    options.position_grid = {(vit->image_size.height + patch - 1) / patch, (vit->image_size.width + patch - 1) / patch};
  }
}

// The checkpoint that model.pretrained means, where that is a run or a checkpoint.
std::optional<fs::path> named_checkpoint(const fs::path& given) {
  std::error_code error;
  const bool is_one = fs::is_directory(given / "checkpoints", error) || fs::exists(given / "DONE", error);
  return is_one ? std::optional(resolve_checkpoint(given)) : std::nullopt;
}

NamedTensors weights_of(const fs::path& checkpoint) {
  return weights_to_use(read_checkpoint(checkpoint, /*with_optimizer=*/false), trained_experiment(checkpoint, {}));
}

}  // namespace

MatchReport load_pretrained(SegmentationModel& model, const ModelConfig& config) {
  const auto checkpoint = named_checkpoint(config.pretrained);
  const fs::path file = checkpoint ? *checkpoint : find_weights(config.pretrained);
  const at::NoGradGuard no_grad;
  const NamedTensors ours = model_state(model);
  std::vector<std::string> names;
  for (const auto& entry : ours) names.push_back(entry.first);
  const MappedKeys mapped = map_keys(checkpoint ? weights_of(*checkpoint) : find_state_dict(read_weights(file)).tensors, names);
  MatchOptions options;
  options.allow_missing = config.allow_missing;
  options.head_prefixes = model.head_prefixes();
  describe_positions(config, ours, options);
  return match_weights(ours, mapped.tensors, options, file.string() + " (" + mapped.family + ")");
}

}  // namespace tessera
