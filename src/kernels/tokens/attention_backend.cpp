#include "kernels/tokens/attention_backend.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "kernels/common/find_op.h"

namespace tessera {
namespace {

using at::SDPBackend;
using GradientsOp = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, int64_t, bool);

// libtorch leaves cuDNN's attention out and sums other gradients in a fixed order only if it may also refuse what has no such
// form. Elsewhere it may not, since other operations only warn.
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

SDPBackend libtorchs_choice(const Heads& heads) {
  const auto choice = static_cast<SDPBackend>(at::_fused_sdp_choice(heads.q, heads.k, heads.v));
  if (heads.q.is_cpu() || choice == SDPBackend::cudnn_attention || choice == SDPBackend::efficient_attention) return choice;
  // libtorch fills other widths up to a multiple of 8 for the GPU's flash attention.
  return choice == SDPBackend::flash_attention && heads.q.size(3) % 8 == 0 ? choice : SDPBackend::math;
}

}  // namespace

AttentionPlan plan_attention(const Heads& heads) {
  const SDPBackend free = libtorchs_choice(heads);
  const StrictWhereDeterministic strict;
  const SDPBackend backward = libtorchs_choice(heads);
  // cuDNN's forward pass has a fixed order anyway, and flash attention takes over from it.
  const bool both = free == SDPBackend::cudnn_attention && backward == SDPBackend::flash_attention;
  return {both ? free : backward, backward};
}

Attended attend(const Heads& in, SDPBackend backend) {
  if (in.q.is_cpu()) {
    const auto [out, log_sums] = at::_scaled_dot_product_flash_attention_for_cpu(in.q, in.k, in.v);
    return {out, log_sums, {}, {}, {}, {}};
  }
  switch (backend) {
    case SDPBackend::cudnn_attention: {
      const auto all = at::_scaled_dot_product_cudnn_attention(in.q, in.k, in.v, std::nullopt, /*compute_log_sumexp=*/true);
      return {std::get<0>(all), std::get<1>(all).squeeze(-1), std::get<2>(all), std::get<3>(all), std::get<6>(all),
              std::get<7>(all)};
    }
    case SDPBackend::efficient_attention: {
      const auto [out, log_sums, seed, offset] =
          at::_scaled_dot_product_efficient_attention(in.q, in.k, in.v, std::nullopt, /*compute_log_sumexp=*/true);
      return {out, log_sums, {}, {}, seed, offset};
    }
    default: {
      const auto all = at::_scaled_dot_product_flash_attention(in.q, in.k, in.v);
      return {std::get<0>(all), std::get<1>(all), std::get<2>(all), std::get<3>(all), std::get<6>(all), std::get<7>(all)};
    }
  }
}

Heads attend_backward(const at::Tensor& grad_out, const Heads& in, const Attended& kept, SDPBackend backend) {
  const StrictWhereDeterministic strict;
  const int64_t tokens = in.q.size(2);
  std::tuple<at::Tensor, at::Tensor, at::Tensor> found;
  if (in.q.is_cpu()) {
    found = at::_scaled_dot_product_flash_attention_for_cpu_backward(grad_out, in.q, in.k, in.v, kept.out, kept.log_sums, 0.0,
                                                                     false);
  } else if (backend == SDPBackend::cudnn_attention) {
    found = at::_scaled_dot_product_cudnn_attention_backward(grad_out, in.q, in.k, in.v, kept.out, kept.log_sums.unsqueeze(-1),
                                                             kept.seed, kept.offset, /*attn_bias=*/{}, kept.starts_q,
                                                             kept.starts_k, tokens, tokens, 0.0, false);
  } else if (backend == SDPBackend::efficient_attention) {
    const auto all = at::_scaled_dot_product_efficient_attention_backward(grad_out, in.q, in.k, in.v, /*attn_bias=*/{},
                                                                          kept.out, kept.log_sums, kept.seed, kept.offset, 0.0,
                                                                          {true, true, true, false});
    found = {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
  } else {
    found = at::_scaled_dot_product_flash_attention_backward(grad_out, in.q, in.k, in.v, kept.out, kept.log_sums, kept.starts_q,
                                                             kept.starts_k, tokens, tokens, 0.0, false, kept.seed, kept.offset);
  }
  return {std::get<0>(found), std::get<1>(found), std::get<2>(found)};
}

at::Tensor attention_gradients(const at::Tensor& grad_out, const at::Tensor& qkv, const at::Tensor& out,
                               const at::Tensor& log_sums, int64_t heads, bool fixed_order) {
  static const auto op = find_op<GradientsOp>("tessera::attention_gradients");
  static const bool there = op.hasKernelForDispatchKey(c10::DispatchKey::CUDA);  // plug-ins are loaded before the first tensor
  const bool half = qkv.scalar_type() == at::kBFloat16 || qkv.scalar_type() == at::kHalf;
  if (!there || !qkv.is_cuda() || !half || !log_sums.is_contiguous()) return {};
  for (const at::Tensor& tokens : {grad_out, qkv, out}) {
    if (!tokens.is_contiguous() || tokens.scalar_type() != qkv.scalar_type()) return {};
  }
  return op.call(grad_out, qkv, out, log_sums, heads, fixed_order);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("attention_gradients(Tensor grad_out, Tensor qkv, Tensor out, Tensor log_sums, int heads, bool fixed_order) -> Tensor");
}

}  // namespace tessera
