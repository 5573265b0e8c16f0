#include "kernels/tokens/layer_norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"

namespace tessera {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using torch::autograd::variable_list;
using Five = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using ForwardOp = Five(const at::Tensor&, const OptionalTensor&, const OptionalTensor&, const at::Tensor&, const at::Tensor&,
                       double, at::ScalarType, int64_t);
using BackwardOp = Five(const OptionalTensor&, const OptionalTensor&, const OptionalTensor&, const at::Tensor&,
                        const at::Tensor&, const at::Tensor&, const at::Tensor&, at::ScalarType, int64_t, bool);

// libtorch's LayerNorm is a good one on a CPU.
Five add_layer_norm_cpu(const at::Tensor& x, const OptionalTensor& branch, const OptionalTensor& branch_bias,
                        const at::Tensor& weight, const at::Tensor& bias, double eps, at::ScalarType type, int64_t head) {
  const at::Tensor sum = branch ? x + (branch_bias ? *branch + *branch_bias : *branch) : x;
  auto [out, mean, rstd] = at::native_layer_norm(sum, weight.sizes(), weight, bias, eps);
  out = out.to(type);
  if (head < 0) return {sum, out, at::empty({0}, out.options()), mean, rstd};
  return {sum, out.slice(-2, 0, head).contiguous(), out.slice(-2, head).contiguous(), mean, rstd};
}

// The gradient of all tokens, of which `head` lie in one tensor and the rest in another.
at::Tensor whole_grad_out(const OptionalTensor& grad_out, const OptionalTensor& grad_rest, const at::Tensor& sum,
                          int64_t head) {
  if (head < 0) return grad_out->to(sum.scalar_type());
  at::Tensor whole = at::zeros_like(sum);
  if (grad_out) whole.slice(-2, 0, head).copy_(*grad_out);
  if (grad_rest) whole.slice(-2, head).copy_(*grad_rest);
  return whole;
}

Five add_layer_norm_backward_cpu(const OptionalTensor& grad_out, const OptionalTensor& grad_rest,
                                 const OptionalTensor& grad_sum, const at::Tensor& sum, const at::Tensor& mean,
                                 const at::Tensor& rstd, const at::Tensor& weight, at::ScalarType branch_type, int64_t head,
                                 bool branch_sums) {
  auto [grad_x, grad_weight, grad_bias] = at::native_layer_norm_backward(
      whole_grad_out(grad_out, grad_rest, sum, head), sum, weight.sizes(), mean, rstd, weight, weight, {true, true, true});
  if (grad_sum) grad_x += *grad_sum;
  return {grad_x, grad_x.to(branch_type), grad_weight, grad_bias,
          branch_sums ? grad_x.reshape({-1, weight.size(0)}).sum(0) : at::Tensor()};
}

OptionalTensor optional(const at::Tensor& x) {
  return x.defined() ? OptionalTensor(x.contiguous()) : std::nullopt;
}

// Results: the sum, the normalised tokens, and where these are split the rest of them.
struct LayerNormFunction : torch::autograd::Function<LayerNormFunction> {
  static variable_list forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const OptionalTensor& branch,
                               const OptionalTensor& branch_bias, const at::Tensor& weight, const at::Tensor& bias, double eps,
                               at::ScalarType type, int64_t head) {
    static const auto op = find_op<ForwardOp>("tessera::add_layer_norm");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [sum, out, rest, mean, rstd] = op.call(x, branch, branch_bias, weight, bias, eps, type, head);
    ctx->save_for_backward({sum, mean, rstd, weight});
    ctx->saved_data["branch"] = branch.has_value();
    ctx->saved_data["branch_type"] = branch ? branch->scalar_type() : x.scalar_type();
    ctx->saved_data["biased"] = branch_bias.has_value();
    ctx->saved_data["head"] = head;
    ctx->set_materialize_grads(false);
    if (head < 0) return {sum, out};
    return {sum, out, rest};
  }
  static variable_list backward(torch::autograd::AutogradContext* ctx, const variable_list& grad_outputs) {
    static const auto op = find_op<BackwardOp>("tessera::add_layer_norm_backward");
    const bool branch = ctx->saved_data["branch"].toBool(), biased = ctx->saved_data["biased"].toBool();
    const at::ScalarType branch_type = ctx->saved_data["branch_type"].toScalarType();
    const int64_t head = ctx->saved_data["head"].toInt();
    const at::Tensor grad_rest = head < 0 ? at::Tensor() : grad_outputs[2];
    const auto saved = ctx->get_saved_variables();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    at::Tensor grad_x = grad_outputs[0], grad_branch, grad_weight, grad_bias, grad_branch_bias;
    if (grad_outputs[1].defined() || grad_rest.defined()) {
      std::tie(grad_x, grad_branch, grad_weight, grad_bias, grad_branch_bias) =
          op.call(optional(grad_outputs[1]), optional(grad_rest), optional(grad_outputs[0]), saved[0], saved[1], saved[2],
                  saved[3], branch_type, head, biased);
    } else if (grad_x.defined()) {
      grad_branch = grad_x.to(branch_type);
      if (biased) grad_branch_bias = grad_x.reshape({-1, grad_x.size(-1)}).sum(0);
    }
    return {grad_x, branch ? grad_branch : at::Tensor(), grad_branch_bias, grad_weight, grad_bias, {}, {}, {}};
  }
};

variable_list apply_norm(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& weight, const at::Tensor& bias,
                         double eps, at::ScalarType type, const at::Tensor& branch_bias, int64_t head) {
  TSR_CHECK(!branch.defined() || branch.sizes() == x.sizes(), "a branch is added to an x of its shape");
  TSR_CHECK(x.dim() > 0 && weight.dim() == 1 && weight.size(0) == x.size(-1), "LayerNorm of width {} on rows of {}",
            weight.numel(), x.size(-1));
  TSR_CHECK(!branch_bias.defined() ||
                (branch.defined() && branch_bias.sizes() == weight.sizes() && branch_bias.scalar_type() == x.scalar_type()),
            "a bias of {} numbers does not belong to a branch of width {}", branch_bias.numel(), weight.size(0));
  // The types are the caller's to say.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return LayerNormFunction::apply(x.contiguous(), optional(branch), optional(branch_bias), weight, bias, eps, type, head);
}

}  // namespace

NormalizedSum add_layer_norm(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& weight, const at::Tensor& bias,
                             double eps, at::ScalarType type, const at::Tensor& branch_bias) {
  const auto result = apply_norm(x, branch, weight, bias, eps, type, branch_bias, -1);
  return {result[0], result[1]};
}

SplitTokens add_layer_norm_split(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& weight,
                                 const at::Tensor& bias, double eps, at::ScalarType type, const at::Tensor& branch_bias,
                                 int64_t head) {
  TSR_CHECK(x.dim() >= 2 && head >= 0 && head <= x.size(-2), "{} tokens cannot be split behind the first {}",
            x.dim() < 2 ? 1 : x.size(-2), head);
  const auto result = apply_norm(x, branch, weight, bias, eps, type, branch_bias, head);
  return {result[1], result[2]};
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "add_layer_norm(Tensor x, Tensor? branch, Tensor? branch_bias, Tensor weight, Tensor bias, float eps, ScalarType type, "
      "int head) -> (Tensor sum, Tensor normalized, Tensor rest, Tensor mean, Tensor rstd)");
  m.def(
      "add_layer_norm_backward(Tensor? grad_out, Tensor? grad_rest, Tensor? grad_sum, Tensor sum, Tensor mean, Tensor rstd, "
      "Tensor weight, ScalarType branch_type, int head, bool branch_sums) -> (Tensor grad_x, Tensor grad_branch, Tensor "
      "grad_weight, Tensor grad_bias, Tensor grad_branch_bias)");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("add_layer_norm", add_layer_norm_cpu);
  m.impl("add_layer_norm_backward", add_layer_norm_backward_cpu);
}

}  // namespace tessera
