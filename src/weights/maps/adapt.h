#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string>

#include "tensor/position_embed.h"

namespace tessera {

// First-layer weights (O, C, kh, kw) trained on other channels: for one channel the sum over C (a grey image is its own red,
// green and blue), for n channels the old ones repeated and scaled by C / n, so that activations keep their size.
at::Tensor adapt_in_channels(const at::Tensor& weight, int64_t channels);

// (1, T, D) to `tokens` tokens. Tokens before the grid (class, distillation) stay as they are; where the new embedding has one
// less, the distillation token's goes. `grid`: the new grid, (0, 0) for a square. Nothing if the numbers make no grid.
std::optional<at::Tensor> resize_positions(const at::Tensor& positions, int64_t tokens, std::array<int64_t, 2> grid,
                                           PositionFit fit);

}  // namespace tessera
