#include <ATen/ATen.h>

#include "cuda/softmax_cells.h"
#include "cuda/softmax_pixels.h"

namespace tessera {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

// The most classes whose logits fit into registers; with more, sums over classes are found beforehand.
constexpr int kMostLanesClasses = 256;

// One call's arguments, and the tensors they point into.
template <class T>
class SoftmaxCall {
 public:
  SoftmaxCall(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners)
      : arguments_{logit_arguments(logits, labels.sizes().slice(1), align_corners), labels.const_data_ptr<int16_t>(), nullptr,
                   nullptr, static_cast<int>(ignore)},
        logits_(logits),
        labels_(labels) {
    const int64_t cells = logits.size(0) * logits.size(2) * logits.size(3);
    constexpr int64_t kEnoughWalks = 16384, kLongest = 16;  // warps for every core, few columns shared between two
    walks_.length = static_cast<int>(std::clamp<int64_t>(cells / kEnoughWalks, 1, kLongest));
    walks_.per_row = (arguments_.columns.in + walks_.length - 1) / walks_.length;
    walks_.count = logits.size(0) * logits.size(2) * walks_.per_row;
  }

  void set_targets(const OptionalTensor& class_weights, double smoothing, const OptionalTensor& other_labels,
                   const OptionalTensor& share) {
    arguments_.smoothing = static_cast<T>(smoothing);
    if (class_weights) {
      const at::Tensor weights = class_weights->to(logits_.device(), at::kDouble);
      arguments_.weight = keep(at::cat({weights, weights.sum().view({1})}));
    }
    if (!other_labels) return;
    kept_.push_back(*other_labels);
    arguments_.other_labels = other_labels->const_data_ptr<int16_t>();
    arguments_.share = keep(*share);
  }
  void set_slopes(const at::Tensor& slopes) { arguments_.slopes = keep(slopes); }
  void set_log_sums(const at::Tensor& log_sums) { arguments_.log_sum = log_sums.mutable_data_ptr<T>(); }

  // Where nothing is interpolated, cells would be single pixels.
  bool pixelwise() const {
    return arguments_.rows.in == arguments_.rows.out && arguments_.columns.in == arguments_.columns.out;
  }
  bool many_classes() const { return arguments_.classes > kMostLanesClasses; }

  // (2, N, H, W): fills the sums over classes of every pixel, and `values` where it is defined.
  at::Tensor find_sums(const at::Tensor& values) {
    const at::Tensor found = empty({2, labels_.size(0), labels_.size(1), labels_.size(2)});
    arguments_.log_sum = found[0].template mutable_data_ptr<T>();
    arguments_.slope_sum = found[1].template mutable_data_ptr<T>();
    launch(pixel_sums_kernel<T>, blocks_for(labels_.numel(), kPixelWarps), 32 * kPixelWarps, 0, arguments_,
           values.defined() ? values.mutable_data_ptr<T>() : nullptr);
    return found;
  }

  at::Tensor empty(at::IntArrayRef size, at::ScalarType type = at::CppTypeToScalarType<T>::value) const {
    return at::empty(size, logits_.options().dtype(type).memory_format(std::nullopt));
  }
  at::Tensor empty_parts() const { return empty({walks_.count, walks_.length + 1, 2, arguments_.classes}); }
  at::Tensor empty_walks(at::IntArrayRef rest, at::ScalarType type) const {
    std::vector<int64_t> size{arguments_.images, walks_.count / arguments_.images};
    size.insert(size.end(), rest.begin(), rest.end());
    return empty(size, type);
  }

  template <SoftmaxTask kTask>
  void walk_cells(const CellOutput<T>& to) {
    const int classes = arguments_.classes;
    if (many_classes()) return start<8, kTask, true>(to);
    if (classes <= 32) return start<1, kTask, false>(to);
    if constexpr (std::is_same_v<T, float>) {  // float64 is for checking, and needs no more kernels
      if (classes <= 96) return start<3, kTask, false>(to);
      if (classes <= 160) return start<5, kTask, false>(to);
    }
    start<8, kTask, false>(to);
  }

  // In the logits' type and layout. slope: null, or a float64 number on the device.
  at::Tensor gather(const at::Tensor& parts, const double* slope) const {
    const at::Tensor gradient = empty_gradient();
    constexpr int64_t kThreads = 256;
    const int64_t total = gradient.numel();
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, gradient.scalar_type(), "gather_parts", [&] {
      launch(gather_parts_kernel<T, scalar_t>, blocks_for(total, kThreads), kThreads, 0, parts.const_data_ptr<T>(), walks_,
             arguments_.classes, arguments_.rows.in, arguments_.columns.in, total, slope, gradient.mutable_data_ptr<scalar_t>(),
             strides_of(gradient));
    });
    return gradient;
  }

  template <SoftmaxTask kTask>
  at::Tensor pixel_gradient(const double* slope) const {
    const at::Tensor gradient = empty_gradient();
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, gradient.scalar_type(), "pixel_gradient", [&] {
      launch(pixel_gradient_kernel<T, scalar_t, kTask>, blocks_for(labels_.numel(), kPixelWarps), 32 * kPixelWarps, 0,
             arguments_, slope, gradient.mutable_data_ptr<scalar_t>(), strides_of(gradient));
    });
    return gradient;
  }

 private:
  static constexpr int64_t kPixelWarps = 8;

  const T* keep(const at::Tensor& values) {
    kept_.push_back(values.to(logits_.device(), at::CppTypeToScalarType<T>::value).contiguous());
    return kept_.back().const_data_ptr<T>();
  }
  at::Tensor empty_gradient() const {
    return at::empty(logits_.sizes(), logits_.options().memory_format(logits_.suggest_memory_format()));
  }
  template <int K, SoftmaxTask kTask, bool kKnown>
  void start(const CellOutput<T>& to) {
    launch(cell_kernel<T, K, kTask, kKnown>, dim3(blocks_for(walks_.count, kCellWarps), blocks_for(arguments_.classes, 32 * K)),
           32 * kCellWarps, 0, arguments_, walks_, to);
  }

  SoftmaxArguments<T> arguments_;
  at::Tensor logits_, labels_;
  std::vector<at::Tensor> kept_;
  CellWalks walks_{};
};

template <class Work>
auto with_compute_type(const at::Tensor& logits, Work&& work) {
  return logits.scalar_type() == at::kDouble ? work(double{}) : work(float{});
}

// Within images first, so that an image's sum is its own.
at::Tensor sum_images(const at::Tensor& values) {
  return values.flatten(1).sum(1, false, at::kDouble).sum();
}

// `saved`: the parts of the gradient, or where there are none the log of each pixel's sum of exponentials.
std::tuple<at::Tensor, at::Tensor> cross_entropy_cuda(const at::Tensor& logits, const at::Tensor& labels,
                                                      const OptionalTensor& class_weights, double smoothing,
                                                      const OptionalTensor& other_labels, const OptionalTensor& share,
                                                      int64_t ignore, bool align_corners, bool with_gradient) {
  const DeviceGuard guard(logits.device());
  return with_compute_type(logits, [&](auto zero) {
    using T = decltype(zero);
    SoftmaxCall<T> call(logits, labels, ignore, align_corners);
    call.set_targets(class_weights, smoothing, other_labels, share);
    if (call.pixelwise() || call.many_classes()) {
      const at::Tensor values = call.empty(labels.sizes());
      const at::Tensor sums = call.find_sums(values);
      at::Tensor saved = sums[0];
      if (with_gradient && !call.pixelwise()) {
        saved = call.empty_parts();
        call.template walk_cells<SoftmaxTask::kCrossEntropy>({saved.template mutable_data_ptr<T>(), nullptr, nullptr});
      }
      return std::tuple(sum_images(values), saved);
    }
    const at::Tensor values = call.empty_walks({}, at::kDouble);
    const at::Tensor parts = with_gradient ? call.empty_parts() : call.empty({0});
    call.template walk_cells<SoftmaxTask::kCrossEntropy>(
        {with_gradient ? parts.template mutable_data_ptr<T>() : nullptr, values.mutable_data_ptr<double>(), nullptr});
    return std::tuple(sum_images(values), parts);
  });
}

at::Tensor cross_entropy_backward_cuda(const at::Tensor& slope, const at::Tensor& saved, const at::Tensor& logits,
                                       const at::Tensor& labels, const OptionalTensor& class_weights, double smoothing,
                                       const OptionalTensor& other_labels, const OptionalTensor& share, int64_t ignore,
                                       bool align_corners) {
  const DeviceGuard guard(logits.device());
  const at::Tensor slope64 = slope.to(at::kDouble);
  return with_compute_type(logits, [&](auto zero) {
    SoftmaxCall<decltype(zero)> call(logits, labels, ignore, align_corners);
    if (!call.pixelwise()) return call.gather(saved, slope64.const_data_ptr<double>());
    call.set_targets(class_weights, smoothing, other_labels, share);
    call.set_log_sums(saved);
    return call.template pixel_gradient<SoftmaxTask::kCrossEntropy>(slope64.const_data_ptr<double>());
  });
}

at::Tensor softmax_sums_cuda(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners) {
  const DeviceGuard guard(logits.device());
  return with_compute_type(logits, [&](auto zero) {
    using T = decltype(zero);
    SoftmaxCall<T> call(logits, labels, ignore, align_corners);
    const at::Tensor known = call.many_classes() ? call.find_sums({}) : at::Tensor();
    const at::Tensor sums = call.empty_walks({2, logits.size(1)}, at::CppTypeToScalarType<T>::value);
    call.template walk_cells<SoftmaxTask::kSums>({nullptr, nullptr, sums.template mutable_data_ptr<T>()});
    return sums.sum(1, false, at::kDouble).sum(0);
  });
}

at::Tensor softmax_sums_backward_cuda(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& slopes,
                                      int64_t ignore, bool align_corners) {
  const DeviceGuard guard(logits.device());
  return with_compute_type(logits, [&](auto zero) {
    using T = decltype(zero);
    SoftmaxCall<T> call(logits, labels, ignore, align_corners);
    call.set_slopes(slopes);
    const at::Tensor known = call.pixelwise() || call.many_classes() ? call.find_sums({}) : at::Tensor();
    if (call.pixelwise()) return call.template pixel_gradient<SoftmaxTask::kSumsGradient>(nullptr);
    const at::Tensor parts = call.empty_parts();
    call.template walk_cells<SoftmaxTask::kSumsGradient>({parts.template mutable_data_ptr<T>(), nullptr, nullptr});
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
