#include "kernels/tokens/bias_gradient.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"

namespace tessera {
namespace {

at::Tensor sum_rows_cpu(const at::Tensor& x) {
  return x.reshape({-1, x.size(-1)}).sum(0, /*keepdim=*/false, x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
}

struct BiasGradientFunction : torch::autograd::Function<BiasGradientFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& y, const at::Tensor& bias) {
    ctx->saved_data["type"] = bias.scalar_type();
    return y;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grad_outputs) {
    return {grad_outputs[0], sum_rows(grad_outputs[0].contiguous()).to(ctx->saved_data["type"].toScalarType())};
  }
};

}  // namespace

at::Tensor sum_rows(const at::Tensor& x) {
  static const auto op = find_op<decltype(sum_rows_cpu)>("tessera::sum_rows");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(x);
}

at::Tensor with_bias_gradient(const at::Tensor& y, const at::Tensor& bias) {
  TSR_CHECK(y.dim() > 0 && bias.dim() == 1 && bias.size(0) == y.size(-1), "a bias of {} numbers for rows of {}", bias.numel(),
            y.size(-1));
  return at::GradMode::is_enabled() && bias.requires_grad() ? BiasGradientFunction::apply(y, bias) : y;
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("sum_rows(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("sum_rows", sum_rows_cpu);
}

}  // namespace tessera
