#include "kernels/self_attention.h"

#include <ATen/ATen.h>
#include <ATen/SDPBackend.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/error.h"
#include "kernels/bias_gradient.h"
#include "kernels/join_heads.h"

namespace tessera {
namespace {

using at::SDPBackend;
using torch::autograd::variable_list;

struct Heads {
  at::Tensor q, k, v;  // each (N, heads, T, d)
};

Heads split_heads(const at::Tensor& qkv, int64_t heads) {
  const auto parts =
      qkv.view({qkv.size(0), qkv.size(1), 3, heads, qkv.size(2) / (3 * heads)}).permute({2, 0, 3, 1, 4}).unbind(0);
  return {parts[0], parts[1], parts[2]};
}

// (N, heads, T, d) to (N, T, heads * d): a view of what the fused attention writes.
at::Tensor side_by_side(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), -1});
}

// Where results must not change from run to run, libtorch leaves cuDNN's attention out and sums flash attention's gradients in
// a fixed order, but only if it may also refuse what has no such form. Elsewhere it may not, since other operations only warn.
class StrictWhereDeterministic {
 public:
  StrictWhereDeterministic() : set_(context_.deterministicAlgorithms() && context_.deterministicAlgorithmsWarnOnly()) {
    if (set_) context_.setDeterministicAlgorithms(true, /*warn_only=*/false);
  }
  ~StrictWhereDeterministic() {
    if (set_) context_.setDeterministicAlgorithms(true, /*warn_only=*/true);
  }
  StrictWhereDeterministic(const StrictWhereDeterministic&) = delete;
  StrictWhereDeterministic& operator=(const StrictWhereDeterministic&) = delete;

 private:
  at::Context& context_ = at::globalContext();
  const bool set_;
};

// What scaled_dot_product_attention would take, where the function below knows how to call it; otherwise math.
SDPBackend choose_backend(const Heads& heads) {
  const StrictWhereDeterministic strict;
  const auto choice = static_cast<SDPBackend>(at::_fused_sdp_choice(heads.q, heads.k, heads.v));
  if (heads.q.is_cpu()) return choice;
  if (choice == SDPBackend::cudnn_attention) return choice;
  // libtorch fills other widths up to a multiple of 8 for the GPU's flash attention.
  const bool takes_flash = choice == SDPBackend::flash_attention && heads.q.size(3) % 8 == 0;
  return takes_flash ? choice : SDPBackend::math;
}

// The result, then whatever the backward pass needs besides.
variable_list attend(const Heads& in, SDPBackend backend) {
  if (backend == SDPBackend::cudnn_attention) {
    const auto all = at::_scaled_dot_product_cudnn_attention(in.q, in.k, in.v, std::nullopt, /*compute_log_sumexp=*/true);
    return {std::get<0>(all), std::get<1>(all), std::get<2>(all), std::get<3>(all), std::get<6>(all), std::get<7>(all)};
  }
  if (in.q.is_cpu()) {
    const auto [out, log_sums] = at::_scaled_dot_product_flash_attention_for_cpu(in.q, in.k, in.v);
    return {out, log_sums};
  }
  const auto all = at::_scaled_dot_product_flash_attention(in.q, in.k, in.v);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all), std::get<3>(all), std::get<6>(all), std::get<7>(all)};
}

// The gradients of q, k and v; `kept` is what attend returned.
std::tuple<at::Tensor, at::Tensor, at::Tensor> attend_backward(const at::Tensor& slope, const Heads& in,
                                                               const variable_list& kept, SDPBackend backend) {
  const StrictWhereDeterministic strict;
  const int64_t tokens = in.q.size(2);
  if (backend == SDPBackend::cudnn_attention) {
    return at::_scaled_dot_product_cudnn_attention_backward(slope, in.q, in.k, in.v, kept[0], kept[1], kept[4], kept[5],
                                                            /*attn_bias=*/{}, kept[2], kept[3], tokens, tokens, 0.0, false);
  }
  if (in.q.is_cpu())
    return at::_scaled_dot_product_flash_attention_for_cpu_backward(slope, in.q, in.k, in.v, kept[0], kept[1], 0.0, false);
  return at::_scaled_dot_product_flash_attention_backward(slope, in.q, in.k, in.v, kept[0], kept[1], kept[2], kept[3], tokens,
                                                          tokens, 0.0, false, kept[4], kept[5]);
}

struct SelfAttentionFunction : torch::autograd::Function<SelfAttentionFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& qkv, const at::Tensor& bias, int64_t heads,
                            int64_t backend) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    variable_list kept = attend(split_heads(qkv, heads), static_cast<SDPBackend>(backend));
    const at::Tensor out = side_by_side(kept[0]);
    kept.push_back(qkv);
    ctx->save_for_backward(kept);
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["backend"] = backend;
    ctx->saved_data["bias_type"] = bias.scalar_type();
    return out;
  }
  static variable_list backward(torch::autograd::AutogradContext* ctx, const variable_list& slopes) {
    const variable_list kept = ctx->get_saved_variables();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Heads in = split_heads(kept.back(), ctx->saved_data["heads"].toInt());
    const at::Tensor slope =
        slopes[0].contiguous().view({in.q.size(0), in.q.size(2), in.q.size(1), in.q.size(3)}).transpose(1, 2);
    const auto [dq, dk, dv] = attend_backward(slope, in, kept, static_cast<SDPBackend>(ctx->saved_data["backend"].toInt()));
    const JoinedHeads joined = join_heads(dq, dk, dv);
    return {joined.tokens, joined.sums.to(ctx->saved_data["bias_type"].toScalarType()), {}, {}};
  }
};

}  // namespace

at::Tensor self_attention(const at::Tensor& qkv, const at::Tensor& bias, int64_t heads) {
  TSR_CHECK(qkv.dim() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0 && bias.dim() == 1 && bias.size(0) == qkv.size(2),
            "queries, keys and values of {} heads, made with a bias of {} numbers, cannot lie in {} numbers", heads,
            bias.numel(), qkv.size(-1));
  if (at::GradMode::is_enabled() && qkv.requires_grad()) {
    // The types are the caller's to say.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor whole = qkv.contiguous();
    const SDPBackend backend = choose_backend(split_heads(whole, heads));
    if (backend != SDPBackend::math) return SelfAttentionFunction::apply(whole, bias, heads, static_cast<int64_t>(backend));
  }
  const Heads parts = split_heads(with_bias_gradient(qkv, bias).contiguous(), heads);
  return side_by_side(at::scaled_dot_product_attention(parts.q, parts.k, parts.v));
}

}  // namespace tessera
