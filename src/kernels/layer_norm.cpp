#include "kernels/layer_norm.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"

namespace tessera {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using ForwardOp = Four(const at::Tensor&, const OptionalTensor&, const at::Tensor&, const at::Tensor&, double, at::ScalarType);
using BackwardOp = Four(const at::Tensor&, const OptionalTensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                        const at::Tensor&, at::ScalarType);

template <class Signature>
auto find_op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

// libtorch's LayerNorm is a good one on a CPU.
Four add_layer_norm_cpu(const at::Tensor& x, const OptionalTensor& branch, const at::Tensor& weight, const at::Tensor& bias,
                        double eps, at::ScalarType type) {
  const at::Tensor sum = branch ? x + *branch : x;
  auto [out, mean, rstd] = at::native_layer_norm(sum, weight.sizes(), weight, bias, eps);
  return {sum, out.to(type), mean, rstd};
}

Four add_layer_norm_backward_cpu(const at::Tensor& slope, const OptionalTensor& sum_slope, const at::Tensor& sum,
                                 const at::Tensor& mean, const at::Tensor& rstd, const at::Tensor& weight,
                                 at::ScalarType branch_type) {
  auto [dx, dw, db] = at::native_layer_norm_backward(slope.to(sum.scalar_type()), sum, weight.sizes(), mean, rstd, weight,
                                                     weight, {true, true, true});
  if (sum_slope) dx += *sum_slope;
  return {dx, dx.to(branch_type), dw, db};
}

struct LayerNormFunction : torch::autograd::Function<LayerNormFunction> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                                                const OptionalTensor& branch, const at::Tensor& weight, const at::Tensor& bias,
                                                double eps, at::ScalarType type) {
    static const auto op = find_op<ForwardOp>("tessera::add_layer_norm");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [sum, out, mean, rstd] = op.call(x, branch, weight, bias, eps, type);
    ctx->save_for_backward({sum, mean, rstd, weight});
    ctx->saved_data["branch"] = branch.has_value();
    ctx->saved_data["branch_type"] = branch ? branch->scalar_type() : x.scalar_type();
    ctx->set_materialize_grads(false);
    if (!branch) return {out};
    return {out, sum};
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& slopes) {
    static const auto op = find_op<BackwardOp>("tessera::add_layer_norm_backward");
    const bool branch = ctx->saved_data["branch"].toBool();
    const at::Tensor sum_slope = branch ? slopes[1] : at::Tensor();
    const at::ScalarType branch_type = ctx->saved_data["branch_type"].toScalarType();
    if (!slopes[0].defined()) {
      return {sum_slope, branch && sum_slope.defined() ? sum_slope.to(branch_type) : at::Tensor(), {}, {}, {}, {}};
    }
    const auto saved = ctx->get_saved_variables();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [dx, dbranch, dw, db] =
        op.call(slopes[0].contiguous(), sum_slope.defined() ? OptionalTensor(sum_slope.contiguous()) : std::nullopt, saved[0],
                saved[1], saved[2], saved[3], branch_type);
    return {dx, branch ? dbranch : at::Tensor(), dw, db, {}, {}};
  }
};

}  // namespace

NormalizedSum add_layer_norm(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& weight, const at::Tensor& bias,
                             double eps, at::ScalarType type) {
  TSR_CHECK(!branch.defined() || branch.sizes() == x.sizes(), "a branch is added to an x of its shape");
  TSR_CHECK(x.dim() > 0 && weight.dim() == 1 && weight.size(0) == x.size(-1), "LayerNorm of width {} on rows of {}",
            weight.numel(), x.size(-1));
  // The types are the caller's to say.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const auto result = LayerNormFunction::apply(
      x.contiguous(), branch.defined() ? OptionalTensor(branch.contiguous()) : std::nullopt, weight, bias, eps, type);
  return {branch.defined() ? result[1] : x, result[0]};
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "add_layer_norm(Tensor x, Tensor? branch, Tensor weight, Tensor bias, float eps, ScalarType type) -> (Tensor sum, Tensor "
      "normalized, Tensor mean, Tensor rstd)");
  m.def(
      "add_layer_norm_backward(Tensor slope, Tensor? sum_slope, Tensor sum, Tensor mean, Tensor rstd, Tensor weight, "
      "ScalarType branch_type) -> (Tensor x, Tensor branch, Tensor weight, Tensor bias)");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("add_layer_norm", add_layer_norm_cpu);
  m.impl("add_layer_norm_backward", add_layer_norm_backward_cpu);
}

}  // namespace tessera
