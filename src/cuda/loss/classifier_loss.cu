#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "cuda/common/column_sums.h"
#include "cuda/loss/classifier_pixels.h"
#include "cuda/loss/classifier_weights.h"

namespace tessera {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

constexpr int64_t kClassifierBlocks = 528;  // at most; fixed: the order of sums must not depend on the GPU

// One call's arguments, and the tensors that it makes.
class ClassifierCall {
 public:
  ClassifierCall(const at::Tensor& features, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& labels,
                 const OptionalTensor& class_weights, double smoothing, int64_t ignore)
      : features_(features),
        arguments_{bits(features),
                   bits(weight),
                   bias.const_data_ptr<float>(),
                   labels.const_data_ptr<int16_t>(),
                   nullptr,
                   static_cast<float>(smoothing),
                   static_cast<int>(ignore),
                   static_cast<int>(weight.size(0)),
                   static_cast<int>(features.size(1)),
                   static_cast<int>(features.size(0)),
                   static_cast<int>(features.size(2) * features.size(3))} {
    if (class_weights) {
      const at::Tensor weights = class_weights->to(features.device(), at::kDouble);
      class_weights_ = at::cat({weights, weights.sum().view({1})}).to(at::kFloat);
      arguments_.class_weight = class_weights_.const_data_ptr<float>();
    }
    tiles_ = (arguments_.image_pixels + kWarpPixels - 1) / kWarpPixels;
    values = empty({arguments_.images, tiles_}, at::kDouble);
    gradient = at::empty(features.sizes(), features.options().memory_format(at::MemoryFormat::ChannelsLast));
  }

  void run(const double* scale) {
    if (features_.scalar_type() == at::kBFloat16) return run<c10::BFloat16>(scale);
    run<c10::Half>(scale);
  }

  // Loss of each tile (images, tiles); gradient of the features; of weight and bias, one behind the other, without the scale.
  at::Tensor values, gradient, weight_sums;

 private:
  static const uint16_t* bits(const at::Tensor& x) { return static_cast<const uint16_t*>(x.const_data_ptr()); }
  at::Tensor empty(at::IntArrayRef size, at::ScalarType type) const {
    return at::empty(size, features_.options().dtype(type).memory_format(std::nullopt));
  }

  template <class S>
  void run(const double* scale) {
    const auto groups = [](int count) { return (count + 31) / 32; };
    const int channels = groups(arguments_.channels);
    if (channels == 1) return run<S, 1>(groups(arguments_.classes), scale);
    if (channels == 2) return run<S, 2>(groups(arguments_.classes), scale);
    run<S, 4>(groups(arguments_.classes), scale);
  }
  template <class S, int kChannels>
  void run(int class_groups, const double* scale) {
    if (class_groups <= 1) {
      visit_pixels<S, 1, kChannels>(scale);
    } else if (class_groups <= 2) {
      visit_pixels<S, 2, kChannels>(scale);
    } else if (class_groups <= 5) {
      visit_pixels<S, 5, kChannels>(scale);
    } else {
      TORCH_CHECK(kChannels <= 2 && class_groups <= 8, "the fused classifier does not take so many classes and channels");
      visit_pixels<S, 8, kChannels <= 2 ? kChannels : 2>(scale);
    }
  }
  template <class S, int kClasses, int kChannels>
  void visit_pixels(const double* scale) {
    constexpr bool kAdds = kAddsWeights<kClasses, kChannels>;
    const unsigned all_rounds = blocks_for(values.numel(), kClassifierWarps);
    const unsigned rounds = blocks_for(all_rounds, kClassifierBlocks), blocks = blocks_for(all_rounds, rounds);
    const int64_t pixels = static_cast<int64_t>(arguments_.images) * arguments_.image_pixels;
    const at::Tensor softmax = empty({kAdds ? 0 : pixels, 2}, at::kFloat);
    const at::Tensor parts = empty({kAdds ? blocks : 0, columns()}, at::kFloat);
    const ClassifierOutput to{values.mutable_data_ptr<double>(),
                              static_cast<uint16_t*>(gradient.mutable_data_ptr()),
                              static_cast<PixelSoftmax*>(softmax.mutable_data_ptr()),
                              parts.mutable_data_ptr<float>(),
                              scale,
                              tiles_,
                              static_cast<int>(rounds)};
    launch(classifier_pixels_kernel<S, kClasses, kChannels>, blocks, 32 * kClassifierWarps,
           sizeof(ClassifierMemory<kClasses, kChannels>), arguments_, to);
    if constexpr (kAdds) {
      add_up(parts);
    } else {
      sum_weights<S, kChannels>(to.softmax);
    }
  }
  template <class S, int kChannels>
  void sum_weights(const PixelSoftmax* softmax) {
    const WeightPlan plan = plan_weights<kChannels>(arguments_);
    const at::Tensor parts = empty({plan.blocks(), columns()}, at::kFloat);
    launch(classifier_weights_kernel<S, kChannels>, static_cast<unsigned>(plan.blocks()), plan.threads(),
           sizeof(WeightMemory<kChannels>), arguments_, plan, softmax, parts.mutable_data_ptr<float>());
    add_up(parts);
  }
  void add_up(const at::Tensor& parts) {
    weight_sums = empty({columns()}, at::kFloat);
    column_sums(parts.const_data_ptr<float>(), weight_sums.mutable_data_ptr<float>(), parts.size(0), columns());
  }
  int64_t columns() const { return static_cast<int64_t>(arguments_.classes) * (arguments_.channels + 1); }

  at::Tensor features_, class_weights_;
  ClassifierArguments arguments_;
  int tiles_;
};

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> classifier_loss_cuda(
    const at::Tensor& features, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& labels,
    const OptionalTensor& class_weights, double smoothing, int64_t ignore, const OptionalTensor& scale) {
  const DeviceGuard guard(features.device());
  ClassifierCall call(features, weight, bias, labels, class_weights, smoothing, ignore);
  call.run(scale ? scale->const_data_ptr<double>() : nullptr);
  const at::Tensor sums = scale ? call.weight_sums.mul_(*scale) : call.weight_sums;
  const int64_t weights = weight.numel();
  return {call.values.sum(1).sum(), call.gradient, sums.narrow(0, 0, weights).view(weight.sizes()),
          sums.narrow(0, weights, weight.size(0))};
}

constexpr int kScaleThreads = 256;

// Traffic: none where the factor is 1, as it is unless a loss is scaled.
template <class S>
__global__ void __launch_bounds__(kScaleThreads) scale_kernel(S* x, int64_t count, const double* factor) {
  constexpr int kSize = 16 / sizeof(S);
  const float by = static_cast<float>(*factor);
  if (by == 1) return;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kScaleThreads * kSize;
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * kScaleThreads + threadIdx.x) * kSize; i < count; i += step) {
    Pack<S, kSize> pack = load_pack<kSize>(x + i);
#pragma unroll
    for (int k = 0; k < kSize; ++k) pack.value[k] = static_cast<S>(by * static_cast<float>(pack.value[k]));
    store_pack(x + i, pack);
  }
}

void scale_unless_one_cuda(at::Tensor& x, const at::Tensor& factor) {
  const DeviceGuard guard(x.device());
  constexpr int64_t kMostBlocks = 1024;
  const unsigned blocks =
      static_cast<unsigned>(std::min(kMostBlocks, (x.numel() + 8 * kScaleThreads - 1) / (8 * kScaleThreads)));
  const auto run = [&](auto zero) {
    using S = decltype(zero);
    launch(scale_kernel<S>, blocks, kScaleThreads, 0, x.mutable_data_ptr<S>(), x.numel(), factor.const_data_ptr<double>());
  };
  x.scalar_type() == at::kBFloat16 ? run(c10::BFloat16{}) : run(c10::Half{});
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("classifier_loss", classifier_loss_cuda);
  m.impl("scale_unless_one_", scale_unless_one_cuda);
}

}  // namespace tessera
