#include "kernels/tokens/l2_normalize_rows.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"

namespace tessera {
namespace {

using torch::autograd::variable_list;
using ForwardOp = at::Tensor(const at::Tensor&);
using BackwardOp = at::Tensor(const at::Tensor&, const at::Tensor&);

at::Tensor in_sum_type(const at::Tensor& x) {
  return x.to(x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
}

at::Tensor l2_normalize_rows_cpu(const at::Tensor& x) {
  const at::Tensor wide = in_sum_type(x);
  return (wide / wide.norm(2, -1, /*keepdim=*/true)).to(x.scalar_type());
}

// With u = x / |x|: grad_x = (grad_out - u (u . grad_out)) / |x|.
at::Tensor l2_normalize_rows_backward_cpu(const at::Tensor& grad_out, const at::Tensor& x) {
  const at::Tensor wide = in_sum_type(x), norm = wide.norm(2, -1, /*keepdim=*/true), unit = wide / norm,
                   g = in_sum_type(grad_out);
  return ((g - unit * (unit * g).sum(-1, /*keepdim=*/true)) / norm).to(x.scalar_type());
}

struct L2NormalizeRowsFunction : torch::autograd::Function<L2NormalizeRowsFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x) {
    static const auto op = find_op<ForwardOp>("tessera::l2_normalize_rows");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({x});
    return op.call(x);
  }
  static variable_list backward(torch::autograd::AutogradContext* ctx, const variable_list& grad_outputs) {
    static const auto op = find_op<BackwardOp>("tessera::l2_normalize_rows_backward");
    const auto saved = ctx->get_saved_variables();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return {op.call(grad_outputs[0].contiguous(), saved[0])};
  }
};

}  // namespace

at::Tensor l2_normalize_rows(const at::Tensor& x) {
  TSR_CHECK(x.dim() > 0, "l2_normalize_rows needs rows, got a single number");
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return L2NormalizeRowsFunction::apply(x.contiguous());
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("l2_normalize_rows(Tensor x) -> Tensor");
  m.def("l2_normalize_rows_backward(Tensor grad_out, Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("l2_normalize_rows", l2_normalize_rows_cpu);
  m.impl("l2_normalize_rows_backward", l2_normalize_rows_backward_cpu);
}

}  // namespace tessera
