#pragma once
#include <torch/nn/modules/normalization.h>

#include <array>
#include <string>
#include <vector>

#include "config/vit_config.h"
#include "nn/blocks/patch_embed.h"
#include "nn/blocks/transformer.h"
#include "tensor/position_embed.h"

namespace tessera {

struct VitOptions {
  int64_t in_channels = 3;
  int64_t patch = 16;
  int64_t layers = 12;
  TransformerOptions transformer;  // of its layers; dropout and norm_eps hold outside of them, too
  Size image_size{512, 512};       // the position embeddings' own size
  bool distilled = false;
  PositionResize position_resize = PositionResize::kBicubic;
};

// Patch, width, layers and heads of a named size.
VitOptions vit_options(VitBackbone backbone);
// What a config says; where it says nothing, the values of its backbone.
VitOptions vit_options(const VitConfig& config, int64_t in_channels);

PositionFit position_fit(PositionResize how);

// Vision transformer (Dosovitskiy et al., 2021; DeiT with `distilled`) with timm's parameter names and without its
// classification head. Images of any size: see PatchEmbed; position embeddings are resized to the grid of the input.
class VitImpl : public torch::nn::Module {
 public:
  explicit VitImpl(const VitOptions& options);

  // x: (N, channels, H, W). Result: all tokens after the last norm, (N, prefix() + h * w, width).
  at::Tensor forward(const at::Tensor& x);

  // The patches among those tokens, (N, h * w, width), without activation checkpointing.
  at::Tensor patches(const at::Tensor& x);

  // The attention weights of a layer: (N, heads, T, T) with T = prefix() + h * w.
  at::Tensor attention(const at::Tensor& x, int64_t layer);

  // The segments from {image} to {size, patches}: the embedding, each layer, the last norm. See Note [Segments].
  std::vector<Segment> patch_segments(const std::string& prefix);

  // The segments from {image} to {size, patches after each of `layers`}, which must rise: the embedding and each layer. The
  // last norm has no segment here, since it belongs to whoever calls `feature_map`. Layers behind the last of `layers` do not
  // run.
  std::vector<Segment> layer_segments(const std::string& prefix, const std::vector<int64_t>& layers);
  // The patches of one layer through the last norm, as a map (N, width, h, w).
  at::Tensor feature_map(const at::Tensor& patches, const at::Tensor& size);

  // Takes the image's part of logits that lie over the image filled up to whole patches. Where nothing was filled up they are
  // returned as they are, else at the image's resolution, upsampled bilinearly and cut. `size` is a size_tensor.
  at::Tensor cut_back(const at::Tensor& logits, const at::Tensor& size) const;

  std::array<int64_t, 2> grid(int64_t height, int64_t width) const { return patch_embed_->grid(height, width); }
  int64_t prefix() const { return options_.distilled ? 2 : 1; }  // class token, then the distillation token
  const VitOptions& options() const { return options_; }
  // The depth of the last norm and of all that stands behind it, for layer-wise learning rates: the embedding has 0, layer i
  // has 1 + i.
  int64_t depth_behind() const { return options_.layers + 1; }

 private:
  at::Tensor embed(const at::Tensor& x);
  Segment embed_segment(const std::string& prefix);

  VitOptions options_;
  std::array<int64_t, 2> own_grid_;
  PatchEmbed patch_embed_{nullptr};
  at::Tensor cls_token_, dist_token_, pos_embed_;
  ElementDropout pos_drop_{nullptr};
  std::vector<TransformerBlock> blocks_;
  torch::nn::LayerNorm norm_{nullptr};
};
TORCH_MODULE(Vit);

}  // namespace tessera
