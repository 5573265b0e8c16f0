// timm: ViT and DeiT (our own names), ResNets with a deep stem (conv1.0, conv1.1, ... bn1 where we say stem.0 ... stem.7).
#include "core/error.h"
#include "weights/maps/families.h"

namespace tessera {
namespace {

constexpr PrefixPair kStem[] = {{"conv1.0.", "stem.0."}, {"conv1.1.", "stem.1."}, {"conv1.3.", "stem.3."},
                                {"conv1.4.", "stem.4."}, {"conv1.6.", "stem.6."}, {"bn1.", "stem.7."}};

}  // namespace

KeyFamily timm_vit() {
  return {
      "timm ViT", true,
      [](const KeySet& keys) { return keys.contains("patch_embed.proj.weight") && keys.contains("blocks.0.attn.qkv.weight"); },
      [](const NamedTensors& file, std::vector<std::string>& dropped) {
        // Classifiers, and what MAE learned with and leaves behind.
        return without(file, {"head.", "head_dist.", "pre_logits.", "fc_norm.", "mask_token", "decoder_"}, dropped);
      }};
}

KeyFamily timm_deep_stem() {
  return {"timm ResNet with a deep stem", true,
          [](const KeySet& keys) { return keys.contains("conv1.0.weight") && keys.contains("layer1.0.conv1.weight"); },
          [](const NamedTensors& file, std::vector<std::string>& dropped) {
            NamedTensors out;
            for (const auto& [key, tensor] : without(file, {"fc."}, dropped)) {
              out.emplace_back(rename_start(key, kStem, KeyDirection::kToOurs), tensor);
            }
            return out;
          }};
}

// timm's models are backbones: made with num_classes=0 they take exactly these keys.
NamedTensors to_timm(const NamedTensors& ours, std::vector<std::string>& dropped) {
  const KeySet keys = keys_of(ours);
  std::string prefix = "encoder.";
  for (const char* place : {"backbone.", "backbone.vit."}) {
    if (any_starts_with(keys, place)) prefix = place;
  }
  NamedTensors out;
  for (const auto& [key, tensor] : ours) {
    if (key.starts_with(prefix)) {
      out.emplace_back(rename_start(key.substr(prefix.size()), kStem, KeyDirection::kToTheirs), tensor);
    } else {
      dropped.push_back(key);
    }
  }
  const KeySet bare = keys_of(out);
  TSR_CHECK(resnet().recognises(bare) || timm_deep_stem().recognises(bare) || timm_vit().recognises(bare),
            "timm has no such model: its layout fits the ResNet or ViT inside a model, and this one has neither");
  return out;
}

}  // namespace tessera
