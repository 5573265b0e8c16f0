#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace tessera {

// How position embeddings are brought to another grid.
enum class PositionFit {
  kBicubic,       // with antialias, as timm
  kBicubicPlain,  // without, as mmsegmentation
  kBilinear,      // without, as rstrudel/segmenter, vit-keras and Flax's references
};

// (1, C, H, W) to the size `to`, without a care for gradients.
at::Tensor resize_grid(const at::Tensor& grid, std::array<int64_t, 2> to, PositionFit fit);

// Resizes the grid of a vision transformer's position embeddings; the `prefix` embeddings in front (class and distillation
// token) stay as they are. Differentiable. Computed in float32, or in float64 for float64 embeddings.
// embed: (1, prefix + from[0] * from[1], D). Result: (1, prefix + to[0] * to[1], D), `embed` itself when the grids are equal.
at::Tensor resize_position_embed(const at::Tensor& embed, std::array<int64_t, 2> from, std::array<int64_t, 2> to,
                                 int64_t prefix, PositionFit fit);

}  // namespace tessera
