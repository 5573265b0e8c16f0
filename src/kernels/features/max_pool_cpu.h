#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace tessera {

// The CPU's implementations of the ops of max_pool.h, for features with their channels side by side. window: kernel, stride,
// padding. positions: (N, C, h, w) uint8, the place of each maximum in its window; empty where not asked for.
std::tuple<at::Tensor, at::Tensor> max_pool_cpu(const at::Tensor& x, at::IntArrayRef window, at::IntArrayRef size,
                                                bool with_positions);
// size: of the features, whose gradient it returns, on top of `added`. grad_out and positions are channels_last.
at::Tensor max_pool_backward_cpu(const at::Tensor& grad_out, const at::Tensor& positions, at::IntArrayRef window,
                                 at::IntArrayRef size, const std::optional<at::Tensor>& added);

}  // namespace tessera
