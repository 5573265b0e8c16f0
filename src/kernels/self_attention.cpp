#include "kernels/self_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/error.h"
#include "kernels/attention_backend.h"
#include "kernels/bias_gradient.h"
#include "kernels/join_heads.h"
#include "tensor/side_stream.h"

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

// Gradients of a stretch of samples to their place in tokens, (N, T, 3 * heads * d); returns their sums over all tokens.
struct Backward {
  at::Tensor slope;
  Heads in;
  Attended kept;
  SDPBackend backend;
  at::Tensor tokens;

  at::Tensor operator()(int64_t first, int64_t samples) const {
    const Heads gradients =
        attend_backward(slope.narrow(0, first, samples), in.narrow(first, samples), kept.narrow(first, samples), backend);
    return join_heads(gradients.q, gradients.k, gradients.v, tokens.narrow(0, first, samples));
  }

  // Flash attention with a fixed order has one block of threads for each head of a sample, which an H200 takes in two waves,
  // the second mostly empty. Two halves beside each other fill it: 0.87 ms where the whole takes 0.98 (16 samples of 12 heads
  // and 1,025 tokens). With few heads it divides their keys, and nothing is left idle.
  at::Tensor whole() const {
    constexpr int64_t kManyHeads = 128;
    const int64_t samples = tokens.size(0), half = samples / 2;
    const bool fixed_order = backend == SDPBackend::flash_attention && at::globalContext().deterministicAlgorithms();
    if (!tokens.is_cuda() || !fixed_order || half == 0 || samples * in.q.size(1) < kManyHeads) return (*this)(0, samples);
    at::Tensor second, first;
    {
      SideStream beside(tokens.device());
      second = beside.run([&] { return (*this)(half, samples - half); });
      first = (*this)(0, half);
    }
    return first + second;
  }
};

struct SelfAttentionFunction : torch::autograd::Function<SelfAttentionFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& qkv, const at::Tensor& bias, int64_t heads,
                            const AttentionPlan& plan) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Attended attended = attend(split_heads(qkv, heads), plan.forward);
    variable_list kept = attended.tensors();
    kept.push_back(qkv);
    ctx->save_for_backward(kept);
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["backend"] = static_cast<int64_t>(plan.backward);
    ctx->saved_data["bias_type"] = bias.scalar_type();
    return side_by_side(attended.out);
  }
  static variable_list backward(torch::autograd::AutogradContext* ctx, const variable_list& slopes) {
    const variable_list kept = ctx->get_saved_variables();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::Tensor& qkv = kept.back();
    const Heads in = split_heads(qkv, ctx->saved_data["heads"].toInt());
    const at::Tensor slope =
        slopes[0].contiguous().view({in.q.size(0), in.q.size(2), in.q.size(1), in.q.size(3)}).transpose(1, 2);
    const Backward backward{slope,
                            in,
                            {kept[0], kept[1], kept[2], kept[3], kept[4], kept[5]},
                            static_cast<SDPBackend>(ctx->saved_data["backend"].toInt()),
                            at::empty_like(qkv)};
    const at::Tensor sums = backward.whole();
    return {backward.tokens, sums.to(ctx->saved_data["bias_type"].toScalarType()), {}, {}};
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
  // What libtorch may choose by itself need not have a fixed order.
  if (learns && at::globalContext().deterministicAlgorithms())
    return side_by_side(std::get<0>(at::_scaled_dot_product_attention_math(parts.q, parts.k, parts.v)));
  return side_by_side(at::scaled_dot_product_attention(parts.q, parts.k, parts.v));
}

}  // namespace tessera
