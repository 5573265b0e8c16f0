#include "cuda/loss/softmax_call.h"

namespace tessera {
namespace {

// Sums within images first, so that an image's sum is its own.
at::Tensor sum_images(const at::Tensor& values) {
  return values.flatten(1).sum(1, false, at::kDouble).sum();
}

// `saved`: the parts of the gradient, or where there are none the log of each pixel's sum of exponentials.
std::tuple<at::Tensor, at::Tensor> cross_entropy_cuda(const at::Tensor& logits, const at::Tensor& labels,
                                                      const OptionalTensor& class_weights, double smoothing,
                                                      const OptionalTensor& other_labels, const OptionalTensor& mix_weight,
                                                      int64_t ignore, bool align_corners, bool with_gradient) {
  const DeviceGuard guard(logits.device());
  return with_compute_type(logits, [&](auto zero) {
    using T = decltype(zero);
    SoftmaxCall<T> call(logits, labels, ignore, align_corners);
    call.set_targets(class_weights, smoothing, other_labels, mix_weight);
    if (call.pixelwise()) {
      at::Tensor values;
      const at::Tensor sums = call.find_sums(&values);
      return std::tuple(sum_images(values), sums[0]);
    }
    const at::Tensor values = call.empty_values();
    const at::Tensor parts = with_gradient ? call.empty_parts() : call.empty({0});
    call.template walk_cells<LossTask::kCrossEntropy>(
        {.parts = with_gradient ? parts.template mutable_data_ptr<T>() : nullptr, .values = values.mutable_data_ptr<double>()});
    return std::tuple(sum_images(values), parts);
  });
}

at::Tensor cross_entropy_backward_cuda(const at::Tensor& grad_out, const at::Tensor& saved, const at::Tensor& logits,
                                       const at::Tensor& labels, const OptionalTensor& class_weights, double smoothing,
                                       const OptionalTensor& other_labels, const OptionalTensor& mix_weight, int64_t ignore,
                                       bool align_corners) {
  const DeviceGuard guard(logits.device());
  const at::Tensor factor = grad_out.to(at::kDouble);
  return with_compute_type(logits, [&](auto zero) {
    SoftmaxCall<decltype(zero)> call(logits, labels, ignore, align_corners);
    if (!call.pixelwise()) return call.gather(saved, factor.const_data_ptr<double>());
    call.set_targets(class_weights, smoothing, other_labels, mix_weight);
    call.set_log_sums(saved);
    return call.template pixel_gradient<LossTask::kCrossEntropy>(factor.const_data_ptr<double>());
  });
}

at::Tensor softmax_sums_cuda(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners) {
  const DeviceGuard guard(logits.device());
  return with_compute_type(logits, [&](auto zero) {
    return SoftmaxCall<decltype(zero)>(logits, labels, ignore, align_corners).class_sums().sum(1, false, at::kDouble).sum(0);
  });
}

at::Tensor softmax_sums_backward_cuda(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& grad_out,
                                      int64_t ignore, bool align_corners) {
  const DeviceGuard guard(logits.device());
  return with_compute_type(logits, [&](auto zero) {
    using T = decltype(zero);
    SoftmaxCall<T> call(logits, labels, ignore, align_corners);
    call.set_grad_sums(grad_out);
    if (call.pixelwise()) {
      const at::Tensor known = call.find_sums(nullptr);
      return call.template pixel_gradient<LossTask::kSumsGradient>(nullptr);
    }
    const at::Tensor parts = call.empty_parts();
    call.template walk_cells<LossTask::kSumsGradient>({.parts = parts.template mutable_data_ptr<T>()});
    return call.gather(parts, nullptr);
  });
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("upsample_cross_entropy", cross_entropy_cuda);
  m.impl("upsample_cross_entropy_backward", cross_entropy_backward_cuda);
  m.impl("upsample_softmax_sums", softmax_sums_cuda);
  m.impl("upsample_softmax_sums_backward", softmax_sums_backward_cuda);
}

}  // namespace tessera
