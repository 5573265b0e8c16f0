// rstrudel/segmenter: encoder. (a timm ViT that kept its unused 1000-class head) and decoder.; our Segmenter's own names.
#include <ATen/ops/zeros.h>

#include "core/error.h"
#include "weights/maps/families.h"

namespace tessera {
namespace {

constexpr int64_t kImageNetClasses = 1000;

}  // namespace

KeyFamily segmenter() {
  return {
      "rstrudel/segmenter", false,
      [](const KeySet& keys) { return keys.contains("encoder.patch_embed.proj.weight") && any_starts_with(keys, "decoder."); },
      [](const NamedTensors& file, std::vector<std::string>& dropped) {
        return without(file, {"encoder.head.", "encoder.head_dist.", "encoder.pre_logits."}, dropped);
      }};
}

// Its module insists on the head that it never uses: zeros stand in for it.
NamedTensors to_segmenter(const NamedTensors& ours) {
  TSR_CHECK(segmenter().recognises(keys_of(ours)), "rstrudel/segmenter has no such model: its layout fits segmenter only");
  NamedTensors out = ours;
  const at::Tensor& token = *find_tensor(ours, "encoder.cls_token");
  const auto add_head = [&](const std::string& name) {
    out.emplace_back(name + ".weight", at::zeros({kImageNetClasses, token.size(2)}, token.options().requires_grad(false)));
    out.emplace_back(name + ".bias", at::zeros({kImageNetClasses}, token.options().requires_grad(false)));
  };
  if (find_tensor(ours, "encoder.head.weight") == nullptr) add_head("encoder.head");
  const bool distilled = find_tensor(ours, "encoder.dist_token") != nullptr;
  if (distilled && find_tensor(ours, "encoder.head_dist.weight") == nullptr) add_head("encoder.head_dist");
  return out;
}

}  // namespace tessera
