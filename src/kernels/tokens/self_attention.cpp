#include "kernels/tokens/self_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/error.h"
#include "kernels/tokens/attention_backend.h"
#include "kernels/tokens/bias_gradient.h"
#include "kernels/tokens/pack_qkv.h"

namespace tessera {
namespace {

using at::SDPBackend;
using torch::autograd::variable_list;

Heads split_heads(const at::Tensor& qkv, int64_t heads) {
  const auto parts =
      qkv.view({qkv.size(0), qkv.size(1), 3, heads, qkv.size(2) / (3 * heads)}).permute({2, 0, 3, 1, 4}).unbind(0);
  return {parts[0], parts[1], parts[2]};
}

// (N, heads, T, d) to (N, T, heads * d): a view of what the fused attention writes.
at::Tensor side_by_side(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), -1});
}

struct SelfAttentionFunction : torch::autograd::Function<SelfAttentionFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& qkv, const at::Tensor& bias, int64_t heads,
                            const AttentionPlan& plan) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Attended attended = attend(split_heads(qkv, heads), plan.forward);
    variable_list kept = attended.tensors();
    kept.push_back(qkv);
    ctx->save_for_backward(kept);
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["by_cudnn"] = plan.forward == SDPBackend::cudnn_attention;
    ctx->saved_data["backend"] = static_cast<int64_t>(plan.backward);
    ctx->saved_data["bias_type"] = bias.scalar_type();
    return side_by_side(attended.out);
  }
  static variable_list backward(torch::autograd::AutogradContext* ctx, const variable_list& grad_outputs) {
    const variable_list kept = ctx->get_saved_variables();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [grad_qkv, grad_bias] =
        gradients(grad_outputs[0].contiguous(), kept.back(), {kept[0], kept[1], kept[2], kept[3], kept[4], kept[5]},
                  ctx->saved_data["heads"].toInt(), ctx->saved_data["by_cudnn"].toBool(),
                  static_cast<SDPBackend>(ctx->saved_data["backend"].toInt()));
    return {grad_qkv, grad_bias.to(ctx->saved_data["bias_type"].toScalarType()), {}, {}};
  }

 private:
  // The gradient of qkv, and its sums over all tokens.
  static std::pair<at::Tensor, at::Tensor> gradients(const at::Tensor& grad_out, const at::Tensor& qkv, const Attended& kept,
                                                     int64_t heads, bool by_cudnn, SDPBackend backend) {
    if (by_cudnn) {
      const at::Tensor grad_qkv = attention_gradients(grad_out, qkv, side_by_side(kept.out), kept.log_sums, heads,
                                                      at::globalContext().deterministicAlgorithms());
      if (grad_qkv.defined()) return {grad_qkv, sum_rows(grad_qkv)};
    }
    const Heads in = split_heads(qkv, heads);
    const at::Tensor grad_heads = grad_out.view({in.q.size(0), in.q.size(2), in.q.size(1), in.q.size(3)}).transpose(1, 2);
    const Heads grads = attend_backward(grad_heads, in, kept, backend);
    const at::Tensor grad_qkv = at::empty_like(qkv);
    return {grad_qkv, pack_qkv_grad(grads.q, grads.k, grads.v, grad_qkv)};
  }
};

}  // namespace

at::Tensor self_attention(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads) {
  TSR_CHECK(qkv.dim() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0 && bias.dim() == 1 && bias.size(0) == qkv.size(2),
            "queries, keys and values of {} heads, made with a bias of {} numbers, cannot lie in {} numbers", heads,
            bias.numel(), qkv.size(-1));
  const bool learns = at::GradMode::is_enabled() && qkv.requires_grad();
  if (learns) {
    // The types are the caller's to say.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor whole = qkv.contiguous();
    const AttentionPlan plan = plan_attention(split_heads(whole, heads));
    if (plan.backward != SDPBackend::math) return SelfAttentionFunction::apply(whole, bias, heads, plan);
  }
  const Heads parts = split_heads(with_bias_gradient(qkv, bias).contiguous(), heads);
  // The kernel that libtorch would choose by itself need not have a fixed order.
  if (learns && at::globalContext().deterministicAlgorithms())
    return side_by_side(std::get<0>(at::_scaled_dot_product_attention_math(parts.q, parts.k, parts.v)));
  return side_by_side(at::scaled_dot_product_attention(parts.q, parts.k, parts.v));
}

}  // namespace tessera
