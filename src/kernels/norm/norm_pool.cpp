#include "kernels/norm/norm_pool.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/common/fused.h"
#include "kernels/features/max_pool_cpu.h"
#include "kernels/norm/norm_act_cpu.h"
#include "kernels/norm/norm_check.h"
#include "kernels/norm/norm_mask.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

// On a CPU libtorch's pool is faster than ours, so these are for tests.
constexpr int64_t kWindow[] = {2, 2, 0};  // kernel, stride, padding

std::tuple<at::Tensor, at::Tensor> norm_pool_cpu(const at::Tensor& x, const at::Tensor& moments, const at::Tensor& weight,
                                                 const at::Tensor& bias, at::IntArrayRef ends, double eps, at::Tensor y) {
  y.copy_(norm_act_cpu(x, std::nullopt, moments, weight, bias, ends, eps, /*relu=*/true));
  return max_pool_cpu(y, kWindow, {x.size(2) / 2, x.size(3) / 2}, /*with_positions=*/true);
}
// The gradient of norm_act's result: through the maxima, and beside them.
at::Tensor dense_grad(const at::Tensor& grad_pooled, const at::Tensor& positions, const OptionalTensor& grad_y,
                      const at::Tensor& x) {
  const auto last = at::MemoryFormat::ChannelsLast;
  return max_pool_backward_cpu(grad_pooled.contiguous(last), positions.contiguous(last), kWindow, x.sizes().slice(2), grad_y);
}
std::tuple<at::Tensor, at::Tensor, at::Tensor> norm_pool_sums_cpu(const at::Tensor& grad_pooled, const at::Tensor& positions,
                                                                  const OptionalTensor& grad_y, const at::Tensor& x,
                                                                  const at::Tensor& moments, const at::Tensor& weight,
                                                                  const at::Tensor& bias, at::IntArrayRef ends, double eps) {
  const auto [means, grad_weight, grad_bias, gated] = norm_act_sums_cpu(
      dense_grad(grad_pooled, positions, grad_y, x), x, std::nullopt, moments, weight, bias, ends, eps, /*relu=*/true);
  return {means, grad_weight, grad_bias};
}
at::Tensor norm_pool_backward_cpu(const at::Tensor& grad_pooled, const at::Tensor& positions, const OptionalTensor& grad_y,
                                  const at::Tensor& x, const at::Tensor& moments, const OptionalTensor& means,
                                  const at::Tensor& weight, const at::Tensor& bias, at::IntArrayRef ends, double eps) {
  return norm_act_backward_cpu(dense_grad(grad_pooled, positions, grad_y, x), x, moments, means, weight, bias, ends, eps,
                               /*relu=*/true);
}

struct Kept : torch::CustomClassHolder {
  explicit Kept(const NormActOptions& o) : options(o) {}
  NormActOptions options;
};

// Hides y from autograd: it becomes the result.
struct Place {
  at::Tensor y;
};

struct NormPoolFunction : torch::autograd::Function<NormPoolFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                               const at::Tensor& moments, const NormActOptions& options, const Place& place) {
    static const auto op = find_op<decltype(norm_pool_cpu)>("tessera::norm_pool");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [pooled, positions] = op.call(x, moments, weight, bias, at::IntArrayRef(options.ends), options.eps, place.y);
    ctx->save_for_backward({x, positions, weight, bias, moments});
    ctx->saved_data["kept"] = c10::IValue::make_capsule(c10::make_intrusive<Kept>(options));
    ctx->set_materialize_grads(false);
    return {pooled, place.y};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    static const auto sums_op = find_op<decltype(norm_pool_sums_cpu)>("tessera::norm_pool_sums");
    static const auto backward_op = find_op<decltype(norm_pool_backward_cpu)>("tessera::norm_pool_backward");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto holder = ctx->saved_data["kept"].toCapsule();
    const NormActOptions& options = static_cast<const Kept&>(*holder).options;
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &positions = saved[1], &weight = saved[2], &bias = saved[3], &moments = saved[4];
    const at::IntArrayRef ends(options.ends);
    const at::Tensor grad_pooled = grad_outputs[0].defined() ? grad_outputs[0] : at::zeros(positions.sizes(), x.options());
    const OptionalTensor grad_y = grad_outputs[1].defined() ? OptionalTensor(grad_outputs[1]) : std::nullopt;
    const bool wants_x = ctx->needs_input_grad(0), wants_means = wants_x && !options.constant_moments;
    at::Tensor means, grad_weight, grad_bias, grad_x;
    if (ctx->needs_input_grad(1) || ctx->needs_input_grad(2) || wants_means) {
      std::tie(means, grad_weight, grad_bias) =
          sums_op.call(grad_pooled, positions, grad_y, x, moments, weight, bias, ends, options.eps);
      if (!options.masked_groups.empty()) mask_groups(options, x, means, grad_weight, grad_bias);
    }
    if (options.exchange && wants_means) options.exchange(means);
    if (wants_x) {
      grad_x =
          backward_op.call(grad_pooled, positions, grad_y, x, moments,
                           options.constant_moments ? std::nullopt : OptionalTensor(means), weight, bias, ends, options.eps);
      for (const int64_t group : options.masked_groups) samples_of_group(grad_x, options, group).zero_();
    }
    return {grad_x, grad_weight, grad_bias, {}, {}, {}};
  }
};

}  // namespace

bool can_fuse_norm_pool(const at::Tensor& x, const at::Tensor& weight) {
  const auto type = x.scalar_type(), compute = type == at::kDouble ? at::kDouble : at::kFloat;
  return x.dim() == 4 && x.numel() > 0 && x.size(2) % 2 == 0 && x.size(3) % 2 == 0 && use_fused(x) &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) && weight.scalar_type() == compute &&
         (type == compute || type == at::kBFloat16 || (type == at::kHalf && !x.is_cpu()));
}

NormPooled norm_pool(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& moments,
                     const NormActOptions& options, int64_t before) {
  TSR_CHECK(can_fuse_norm_pool(x, weight) && options.relu && before >= 0,
            "expected channels_last features with even sides and a ReLU behind them, got {} of {}", toString(x.scalar_type()),
            fmt::join(x.sizes(), " x "));
  check_norm_arguments(x, options.ends, moments, weight, bias);
  const ConcatBuffer made = make_concat_buffer(before, x);
  const auto both = NormPoolFunction::apply(x, weight, bias, moments.contiguous(), options, Place{made.skip});
  return {both[0], both[1], made.whole};
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  // y: what norm_act gives is written to it; positions: a byte for each maximum, as max_pool's.
  m.def(
      "norm_pool(Tensor x, Tensor moments, Tensor weight, Tensor bias, int[] ends, float eps, Tensor(a!) y) -> (Tensor pooled, "
      "Tensor positions)");
  m.def(
      "norm_pool_sums(Tensor grad_pooled, Tensor positions, Tensor? grad_y, Tensor x, Tensor moments, Tensor weight, Tensor "
      "bias, int[] ends, float eps) -> (Tensor means, Tensor grad_weight, Tensor grad_bias)");
  m.def(
      "norm_pool_backward(Tensor grad_pooled, Tensor positions, Tensor? grad_y, Tensor x, Tensor moments, Tensor? means, "
      "Tensor weight, Tensor bias, int[] ends, float eps) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("norm_pool", norm_pool_cpu);
  m.impl("norm_pool_sums", norm_pool_sums_cpu);
  m.impl("norm_pool_backward", norm_pool_backward_cpu);
}

}  // namespace tessera
