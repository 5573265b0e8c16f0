#include "kernels/norm/norm_act.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/common/fused.h"
#include "kernels/norm/norm_act_cpu.h"
#include "kernels/norm/norm_act_plain.h"
#include "kernels/norm/norm_check.h"
#include "kernels/norm/norm_mask.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

// Calls the op, or its form in libtorch's own operations where there is no kernel for x.
template <class... Parameters, class Result, class... Arguments>
Result call(Result (*plain)(Parameters...), const c10::TypedOperatorHandle<Result(Parameters...)>& op, bool fused,
            const Arguments&... arguments) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return fused ? op.call(arguments...) : plain(arguments...);
}

bool can_fuse_norm(const at::Tensor& x, const at::Tensor& parameter) {
  const auto compute = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const bool half_on_cpu = x.is_cpu() && x.scalar_type() == at::kHalf;  // rare
  return use_fused(x) && !half_on_cpu && (!parameter.defined() || parameter.scalar_type() == compute);
}

#define TSR_NORM_OP(name)                                                      \
  template <class... Arguments>                                                \
  auto call_##name(bool fused, const Arguments&... arguments) {                \
    static const auto op = find_op<decltype(name##_plain)>("tessera::" #name); \
    return call(&name##_plain, op, fused, arguments...);                       \
  }
TSR_NORM_OP(norm_moments)
TSR_NORM_OP(norm_act)
TSR_NORM_OP(norm_act_sums)
TSR_NORM_OP(norm_act_backward)
#undef TSR_NORM_OP

struct Kept : torch::CustomClassHolder {
  explicit Kept(const NormActOptions& o) : options(o) {}
  NormActOptions options;
  bool has_residual = false;
};

struct NormActFunction : torch::autograd::Function<NormActFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const OptionalTensor& residual, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& moments, const NormActOptions& options) {
    const auto kept = c10::make_intrusive<Kept>(options);
    kept->has_residual = residual.has_value();
    const at::Tensor y = call_norm_act(can_fuse_norm(x, weight), x, residual, moments, weight, bias,
                                       at::IntArrayRef(options.ends), options.eps, options.relu);
    // Without a residual the sign of y follows from x.
    ctx->save_for_backward({x, options.relu && kept->has_residual ? y : at::Tensor(), weight, bias, moments});
    ctx->saved_data["kept"] = c10::IValue::make_capsule(kept);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    const auto holder = ctx->saved_data["kept"].toCapsule();
    const auto& kept = static_cast<const Kept&>(*holder);
    const NormActOptions& options = kept.options;
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &y = saved[1], &weight = saved[2], &bias = saved[3], &moments = saved[4];
    const at::IntArrayRef ends(options.ends);
    // An argument that is no tensor has no number.
    const size_t of_weight = kept.has_residual ? 2 : 1;
    const bool wants_x = ctx->needs_input_grad(0), wants_residual = kept.has_residual && ctx->needs_input_grad(1);
    const bool wants_sums =
        ctx->needs_input_grad(of_weight) || ctx->needs_input_grad(of_weight + 1) || (wants_x && !options.constant_moments);
    const bool fused = can_fuse_norm(x, weight);
    at::Tensor grad_out = grad_outputs[0], means, grad_weight, grad_bias;
    bool gate = options.relu;
    if (wants_sums || y.defined()) {
      at::Tensor gated;
      std::tie(means, grad_weight, grad_bias, gated) =
          call_norm_act_sums(fused, grad_out, x, y.defined() ? OptionalTensor(y) : std::nullopt, moments, weight, bias, ends,
                             options.eps, options.relu);
      if (y.defined()) {
        grad_out = gated;
        gate = false;
      }
    }
    if (!options.masked_groups.empty() && means.defined()) mask_groups(options, x, means, grad_weight, grad_bias);
    if (options.exchange && wants_x && !options.constant_moments) options.exchange(means);
    at::Tensor grad_x;
    if (wants_x) {
      grad_x =
          call_norm_act_backward(fused, grad_out, x, moments, options.constant_moments ? std::nullopt : OptionalTensor(means),
                                 weight, bias, ends, options.eps, gate);
      for (const int64_t group : options.masked_groups) samples_of_group(grad_x, options, group).zero_();
    }
    return {grad_x, wants_residual ? grad_out : at::Tensor(), grad_weight, grad_bias, {}, {}};
  }
};

}  // namespace

at::Tensor norm_moments(const at::Tensor& x, const std::vector<int64_t>& ends) {
  return norm_moments(x, ends, {}, {}, 0);
}

at::Tensor norm_moments(const at::Tensor& x, const std::vector<int64_t>& ends, const at::Tensor& running_mean,
                        const at::Tensor& running_var, double momentum) {
  check_norm_input(x, ends);
  TSR_CHECK(!running_mean.defined() || (running_mean.numel() == x.size(1) && running_var.numel() == x.size(1)),
            "expected running averages for {} channels", x.size(1));
  const auto optional = [](const at::Tensor& t) { return t.defined() ? OptionalTensor(t) : std::nullopt; };
  return call_norm_moments(can_fuse_norm(x, running_mean), x, at::IntArrayRef(ends), optional(running_mean),
                           optional(running_var), momentum);
}

at::Tensor norm_act(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight, const at::Tensor& bias,
                    const at::Tensor& moments, const NormActOptions& options) {
  check_norm_arguments(x, options.ends, moments, weight, bias);
  TSR_CHECK(!residual.defined() || residual.sizes() == x.sizes(), "expected a residual of {}, got {}",
            fmt::join(x.sizes(), " x "), fmt::join(residual.sizes(), " x "));
  const OptionalTensor added = residual.defined() ? OptionalTensor(residual.to(x.scalar_type())) : std::nullopt;
  return NormActFunction::apply(x, added, weight, bias, moments.contiguous(), options);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("norm_moments(Tensor x, int[] ends, Tensor(a!)? running_mean, Tensor(b!)? running_var, float momentum) -> Tensor");
  m.def(
      "norm_act(Tensor x, Tensor? residual, Tensor moments, Tensor weight, Tensor bias, int[] ends, float eps, bool relu) -> "
      "Tensor");
  // means: over each group, of g and of g * normalised x, where g is grad_out with 0 where ReLU cut; gated: g, when y is
  // given.
  m.def(
      "norm_act_sums(Tensor grad_out, Tensor x, Tensor? y, Tensor moments, Tensor weight, Tensor bias, int[] ends, float eps, "
      "bool relu) -> (Tensor means, Tensor grad_weight, Tensor grad_bias, Tensor gated)");
  m.def(
      "norm_act_backward(Tensor grad_out, Tensor x, Tensor moments, Tensor? means, Tensor weight, Tensor bias, int[] ends, "
      "float eps, bool relu) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("norm_moments", norm_moments_cpu);
  m.impl("norm_act", norm_act_cpu);
  m.impl("norm_act_sums", norm_act_sums_cpu);
  m.impl("norm_act_backward", norm_act_backward_cpu);
}

}  // namespace tessera
