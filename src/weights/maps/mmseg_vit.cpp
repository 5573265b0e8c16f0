// mmsegmentation with a ViT: other names for timm's parts, and the mask decoder's two projections stored as linear layers
// (transposed). The linear decoder is a 1x1 convolution there.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "core/error.h"
#include "weights/maps/families.h"

namespace tessera {
namespace {

// Inside a transformer layer ("layers.3." / "blocks.3.").
constexpr PrefixPair kLayer[] = {{"attn.attn.in_proj_", "attn.qkv."},
                                 {"attn.attn.out_proj.", "attn.proj."},
                                 {"ffn.layers.0.0.", "mlp.fc1."},
                                 {"ffn.layers.1.", "mlp.fc2."},
                                 {"ln1.", "norm1."},
                                 {"ln2.", "norm2."}};
constexpr PrefixPair kOutside[] = {{"patch_embed.projection.", "patch_embed.proj."}, {"ln1.", "norm."}};
constexpr PrefixPair kDecoder[] = {{"dec_proj.", "proj_dec."},
                                   {"patch_proj.weight", "proj_patch"},
                                   {"classes_proj.weight", "proj_classes"},
                                   {"conv_seg.", "head."}};

// `key` without "backbone." or "decode_head.".
std::string rename(std::string_view key, PrefixMap outside, KeyDirection direction) {
  const bool to_ours = direction == KeyDirection::kToOurs;
  const std::string_view here = to_ours ? "layers." : "blocks.", there = to_ours ? "blocks." : "layers.";
  const size_t dot = key.starts_with(here) ? key.find('.', here.size()) : std::string_view::npos;
  if (dot == std::string_view::npos) return rename_start(key, outside, direction);
  return std::string(there).append(key.substr(here.size(), dot + 1 - here.size())) +
         rename_start(key.substr(dot + 1), kLayer, direction);
}

bool has_segmenter_head(const NamedTensors& file) {
  if (find_tensor(file, "decode_head.cls_emb") != nullptr) return true;
  for (const auto& [key, tensor] : file) {
    if (key.starts_with("decode_head.") && !key.starts_with("decode_head.conv_seg.")) return false;
  }
  return find_tensor(file, "decode_head.conv_seg.weight") != nullptr;
}

constexpr std::string_view kBackbone = "backbone.", kHead = "decode_head.", kEncoder = "encoder.", kOurDecoder = "decoder.";

constexpr std::string_view kTheirPatchWeight = "backbone.patch_embed.projection.weight",
                           kTheirPatchBias = "backbone.patch_embed.projection.bias",
                           kOurPatchBias = "encoder.patch_embed.proj.bias", kOurPositions = "encoder.pos_embed";

NamedTensors translate(const NamedTensors& file, std::vector<std::string>&) {
  const bool whole = has_segmenter_head(file);
  NamedTensors out;
  // mmsegmentation's patches have no bias unless its config asks for one.
  if (const at::Tensor* weight = find_tensor(file, kTheirPatchWeight);
      weight != nullptr && weight->dim() == 4 && find_tensor(file, kTheirPatchBias) == nullptr)
    out.emplace_back(std::string(whole ? kEncoder : kBackbone) + "patch_embed.proj.bias",
                     at::zeros({weight->size(0)}, weight->options().requires_grad(false)));
  for (const auto& [key, tensor] : file) {
    const std::string_view name = key;
    if (name.starts_with(kBackbone)) {
      out.emplace_back(
          std::string(whole ? kEncoder : kBackbone) + rename(name.substr(kBackbone.size()), kOutside, KeyDirection::kToOurs),
          tensor);
    } else if (whole && name.starts_with(kHead)) {
      const std::string ours = rename(name.substr(kHead.size()), kDecoder, KeyDirection::kToOurs);
      const bool transposed = ours == "proj_patch" || ours == "proj_classes";
      const at::Tensor value = transposed                                   ? tensor.t()
                               : ours == "head.weight" && tensor.dim() == 4 ? tensor.flatten(1)
                                                                            : tensor;
      out.emplace_back(std::string(kOurDecoder) + ours, value);
    } else {
      out.emplace_back(key, tensor);
    }
  }
  return out;
}

// Patch tokens get the patches' bias and their positions; mmsegmentation's models have the positions only, so the bias is
// added to those (the class token's has none). Interpolated positions are means of others and so keep what was added to all.
at::Tensor with_patch_bias(const at::Tensor& positions, const at::Tensor& bias) {
  const at::Tensor class_token = positions.slice(1, 0, 1), patches = positions.slice(1, 1);
  return at::cat({class_token, patches + bias.view({1, 1, -1})}, 1);
}

}  // namespace

void refuse_multi_level_neck(const KeySet& file, const KeySet& model) {
  TSR_CHECK(!any_starts_with(file, "neck.") || !any_starts_with(model, "backbone.vit."),
            "these are the weights of mmsegmentation's ViT with MultiLevelNeck and UPerNet (tensors neck.*), which is another "
            "model than upernet_vit: it resizes the ViT's features, upernet_vit convolves them to other sizes. Start "
            "upernet_vit from weights of a ViT instead (`tessera models pretrained`)");
}

KeyFamily mmseg_vit() {
  return {"mmsegmentation ViT", false,
          [](const KeySet& keys) { return keys.contains("backbone.layers.0.attn.attn.in_proj_weight"); }, translate};
}

NamedTensors to_mmseg_vit(const NamedTensors& ours) {
  const at::NoGradGuard no_grad;
  const at::Tensor* patch_bias = find_tensor(ours, kOurPatchBias);
  NamedTensors out;
  for (const auto& [key, tensor] : ours) {
    const std::string_view name = key;
    if (name == kOurPatchBias) continue;
    if (name == kOurPositions && patch_bias != nullptr) {
      out.emplace_back(std::string(kBackbone) + "pos_embed", with_patch_bias(tensor, *patch_bias));
    } else if (name.starts_with(kEncoder)) {
      TSR_CHECK(name != "encoder.dist_token", "mmsegmentation has no distilled ViT; choose --layout segmenter or timm");
      out.emplace_back(std::string(kBackbone) + rename(name.substr(kEncoder.size()), kOutside, KeyDirection::kToTheirs),
                       tensor);
    } else {
      const std::string theirs = rename(name.substr(kOurDecoder.size()), kDecoder, KeyDirection::kToTheirs);
      const bool transposed = theirs == "patch_proj.weight" || theirs == "classes_proj.weight";
      const at::Tensor value = transposed                    ? tensor.t()
                               : theirs == "conv_seg.weight" ? tensor.unsqueeze(-1).unsqueeze(-1)
                                                             : tensor;
      out.emplace_back(std::string(kHead) + theirs, value);
    }
  }
  return out;
}

}  // namespace tessera
