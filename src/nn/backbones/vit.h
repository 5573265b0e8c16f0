#pragma once
#include <torch/nn.h>

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
  int64_t width = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  Size image_size{512, 512};  // the position embeddings' own size
  bool distilled = false;
  double dropout = 0;
  double attention_dropout = 0;
  double drop_path = 0;  // of the last layer, rising linearly from 0
  double norm_eps = 1e-6;
  PositionResize position_resize = PositionResize::kBicubic;
  bool checkpoint = false;  // keep only the input of each layer for the backward pass
};

// Patch, width, layers and heads of a named size.
VitOptions vit_options(VitBackbone backbone);
// All that a config says, where it says nothing its backbone's.
VitOptions vit_options(const VitConfig& config, int64_t in_channels);

PositionFit position_fit(PositionResize how);

// Vision transformer (Dosovitskiy et al., 2021; DeiT with `distilled`) with timm's parameter names and without its
// classification head. Images of any size: see PatchEmbed; position embeddings are resized to the grid of the input.
class VitImpl : public torch::nn::Module {
 public:
  explicit VitImpl(const VitOptions& options);

  // x: (N, channels, H, W). Result: all tokens after the last norm, (N, prefix() + h * w, width).
  at::Tensor forward(const at::Tensor& x);

  // The patches among them: (N, h * w, width).
  at::Tensor patches(const at::Tensor& x);

  // The attention weights of a layer: (N, heads, T, T) with T = prefix() + h * w.
  at::Tensor attention(const at::Tensor& x, int64_t layer);

  // The patches after each of `layers` (in rising order), each through the last norm, for pyramids: (N, width, h, w).
  std::vector<at::Tensor> features(const at::Tensor& x, const std::vector<int64_t>& layers);

  std::array<int64_t, 2> grid(int64_t height, int64_t width) const { return patch_embed_->grid(height, width); }
  int64_t prefix() const { return options_.distilled ? 2 : 1; }  // class token, then the distillation token
  const VitOptions& options() const { return options_; }

 private:
  at::Tensor embed(const at::Tensor& x);

  VitOptions options_;
  std::array<int64_t, 2> own_grid_;
  PatchEmbed patch_embed_{nullptr};
  at::Tensor cls_token_, dist_token_, pos_embed_;
  ElementDropout pos_drop_{nullptr};
  std::vector<TransformerBlock> blocks_;
  torch::nn::LayerNorm norm_{nullptr};
};
TORCH_MODULE(Vit);

// How deep in a ViT of `layers` blocks a parameter (named from the ViT on, e.g. "blocks.3.attn.qkv.weight") lies, for
// layer-wise learning rates lr * decay^(layers + 1 - depth): the embeddings 0, block i 1 + i, anything behind layers + 1.
int64_t vit_depth(const std::string& name, int64_t layers);

}  // namespace tessera
