#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace tessera {

// The CPU implementations of the ops in upsample_loss.cpp. Labels: contiguous int16. The cross entropy saves the gradient of
// its sum: both directions in one pass, backward only multiplies.
std::tuple<at::Tensor, at::Tensor> upsample_cross_entropy_cpu(const at::Tensor& logits, const at::Tensor& labels,
                                                              const std::optional<at::Tensor>& class_weights,
                                                              double label_smoothing,
                                                              const std::optional<at::Tensor>& other_labels,
                                                              const std::optional<at::Tensor>& mix_weight, int64_t ignore,
                                                              bool align_corners, bool with_gradient);
at::Tensor upsample_cross_entropy_backward_cpu(const at::Tensor& grad_out, const at::Tensor& saved, const at::Tensor& logits,
                                               const at::Tensor& labels, const std::optional<at::Tensor>& class_weights,
                                               double label_smoothing, const std::optional<at::Tensor>& other_labels,
                                               const std::optional<at::Tensor>& mix_weight, int64_t ignore, bool align_corners);
at::Tensor upsample_softmax_sums_cpu(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners);
at::Tensor upsample_softmax_sums_backward_cpu(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& grad_out,
                                              int64_t ignore, bool align_corners);

}  // namespace tessera
