#include "kernels/features/depthwise_conv.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "tensor/product_type.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using ForwardOp = at::Tensor(const at::Tensor&, const at::Tensor&, int64_t);
using BackwardOp = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const at::Tensor&, int64_t);

// On a CPU callers take conv2d itself, so these are for tests. They compute in the weight's type.
at::Tensor depthwise_conv_cpu(const at::Tensor& x, const at::Tensor& weight, int64_t dilation) {
  return at::conv2d(x.to(weight.scalar_type()), weight, {}, 1, dilation, dilation, x.size(1)).to(x.scalar_type());
}
std::tuple<at::Tensor, at::Tensor> depthwise_conv_backward_cpu(const at::Tensor& grad_out, const at::Tensor& x,
                                                               const at::Tensor& weight, int64_t dilation) {
  const auto type = weight.scalar_type();
  const std::vector<int64_t> ones = {1, 1}, zeros = {0, 0}, spread = {dilation, dilation};
  const auto [grad_x, grad_weight, grad_bias] =
      at::convolution_backward(grad_out.to(type), x.to(type), weight, at::OptionalIntArrayRef(), ones, spread, spread,
                               /*transposed=*/false, zeros, x.size(1), {true, true, false});
  return {grad_x.to(x.scalar_type()), grad_weight};
}

struct DepthwiseConvFunction : torch::autograd::Function<DepthwiseConvFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, int64_t dilation) {
    static const auto op = find_op<ForwardOp>("tessera::depthwise_conv");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({x, weight});
    ctx->saved_data["dilation"] = dilation;
    return op.call(x, weight, dilation);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    static const auto op = find_op<BackwardOp>("tessera::depthwise_conv_backward");
    const auto saved = ctx->get_saved_variables();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [grad_x, grad_weight] = op.call(grad_outputs[0], saved[0], saved[1], ctx->saved_data["dilation"].toInt());
    return {grad_x, grad_weight, {}};
  }
};

}  // namespace

at::Tensor depthwise_conv(const at::Tensor& x, const at::Tensor& weight, int64_t dilation) {
  TSR_CHECK(x.dim() == 4 && at::isFloatingType(x.scalar_type()), "expected features (N, C, H, W), got {} of {}",
            toString(x.scalar_type()), fmt::join(x.sizes(), " x "));
  TSR_CHECK(weight.sizes() == at::IntArrayRef({x.size(1), 1, 3, 3}), "expected a weight of {} x 1 x 3 x 3, got {}", x.size(1),
            fmt::join(weight.sizes(), " x "));
  TSR_CHECK(dilation > 0, "a dilation is at least 1, got {}", dilation);
  const at::ScalarType type = product_type(x);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return DepthwiseConvFunction::apply(x.to(type), weight.to(type == at::kDouble ? at::kDouble : at::kFloat), dilation);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("depthwise_conv(Tensor x, Tensor weight, int dilation) -> Tensor");
  m.def(
      "depthwise_conv_backward(Tensor grad_out, Tensor x, Tensor weight, int dilation) -> (Tensor grad_x, Tensor grad_weight)");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("depthwise_conv", depthwise_conv_cpu);
  m.impl("depthwise_conv_backward", depthwise_conv_backward_cpu);
}

}  // namespace tessera
