#pragma once
#include <cstdint>

#include "config/schema.h"
#include "core/image.h"

namespace tessera {

// Vision transformers by size (tiny, small, base, large) and patch side.
enum class VitBackbone { kTi8, kTi16, kTi32, kS8, kS16, kS32, kB8, kB16, kB32, kL8, kL16, kL32 };
template <>
struct EnumNames<VitBackbone> {
  static constexpr std::array<std::string_view, 12> names = {"vit_ti8", "vit_ti16", "vit_ti32", "vit_s8", "vit_s16", "vit_s32",
                                                             "vit_b8",  "vit_b16",  "vit_b32",  "vit_l8", "vit_l16", "vit_l32"};
};
enum class PositionResize { kBicubic, kBicubicPlain, kBilinear };
template <>
struct EnumNames<PositionResize> {
  static constexpr std::array<std::string_view, 3> names = {"bicubic", "bicubic_plain", "bilinear"};
};

// What every model on a vision transformer can say of it; such a model's own config derives from this.
struct VitConfig {
  VitBackbone backbone = VitBackbone::kB16;
  bool distilled = false;
  Size image_size{512, 512};
  PositionResize position_resize = PositionResize::kBilinear;
  double drop_path = 0.1;
  double dropout = 0;
  double attention_dropout = 0;
  double norm_eps = 1e-6;
  int64_t patch = 0, width = 0, layers = 0, heads = 0;
  bool checkpoint = false;
};
template <class V>
void describe(V& v, VitConfig& c) {
  v.field("backbone", c.backbone, "vision transformer: size ti, s, b or l, then the patch's side");
  v.field("distilled", c.distilled, "with a distillation token, as DeiT's distilled weights have");
  v.field("image_size", c.image_size, "size the position embeddings are kept for; inputs of other sizes get them resized");
  v.field("position_resize", c.position_resize,
          "how they are resized: bicubic with antialias as timm; bicubic_plain without, as mmsegmentation; bilinear");
  v.field("drop_path", c.drop_path, "of the last encoder layer, rising linearly from 0 at the first", between(0, 0.99));
  v.field("dropout", c.dropout, "of the encoder's embeddings, projections and MLPs", between(0, 0.99));
  v.field("attention_dropout", c.attention_dropout,
          "of attention weights, everywhere; above 0 training keeps whole attention matrices instead of the fused attention",
          between(0, 0.99));
  v.field("norm_eps", c.norm_eps, "layer norm's epsilon: 1e-6 as timm, 1e-5 as the Segmenter reference", positive());
  v.field("patch", c.patch, "patch side; 0: the backbone's", at_least(0));
  v.field("width", c.width, "channels of a token; 0: the backbone's", at_least(0));
  v.field("layers", c.layers, "encoder layers; 0: the backbone's", at_least(0));
  v.field("heads", c.heads, "attention heads; 0: the backbone's", at_least(0));
  v.field("checkpoint", c.checkpoint, "keep only the input of each layer and compute the rest again in the backward pass");
}

}  // namespace tessera
