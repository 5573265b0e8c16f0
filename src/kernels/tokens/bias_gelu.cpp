#include "kernels/tokens/bias_gelu.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"

namespace tessera {
namespace {

using ForwardOp = at::Tensor(const at::Tensor&, const at::Tensor&);
using BackwardOp = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const at::Tensor&);

// On a CPU the matrix product adds the bias for nothing, so these are for tests.
at::Tensor bias_gelu_cpu(const at::Tensor& x, const at::Tensor& bias) {
  return at::gelu(x + bias).to(x.scalar_type());
}
std::tuple<at::Tensor, at::Tensor> bias_gelu_backward_cpu(const at::Tensor& grad_out, const at::Tensor& x,
                                                          const at::Tensor& bias) {
  const at::Tensor sum = x + bias;
  const at::Tensor grad_x = at::gelu_backward(grad_out.to(sum.scalar_type()), sum);
  return {grad_x.to(x.scalar_type()), grad_x.reshape({-1, bias.size(0)}).sum(0)};
}

struct BiasGeluFunction : torch::autograd::Function<BiasGeluFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& bias) {
    static const auto op = find_op<ForwardOp>("tessera::bias_gelu");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({x, bias});
    return op.call(x, bias);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grad_outputs) {
    static const auto op = find_op<BackwardOp>("tessera::bias_gelu_backward");
    const auto saved = ctx->get_saved_variables();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [grad_x, grad_bias] = op.call(grad_outputs[0].contiguous(), saved[0], saved[1]);
    return {grad_x, grad_bias};
  }
};

}  // namespace

at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias) {
  TSR_CHECK(x.dim() > 0 && bias.dim() == 1 && bias.size(0) == x.size(-1), "a bias of {} numbers for rows of {}", bias.numel(),
            x.size(-1));
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return BiasGeluFunction::apply(x.contiguous(), bias);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("bias_gelu(Tensor x, Tensor bias) -> Tensor");
  m.def("bias_gelu_backward(Tensor grad_out, Tensor x, Tensor bias) -> (Tensor grad_x, Tensor grad_bias)");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("bias_gelu", bias_gelu_cpu);
  m.impl("bias_gelu_backward", bias_gelu_backward_cpu);
}

}  // namespace tessera
