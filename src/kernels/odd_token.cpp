#include "kernels/odd_token.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <bit>
#include <cmath>

#include "core/error.h"
#include "kernels/join_heads.h"

namespace tessera {
namespace {

using at::Tensor;
using JoinOp = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                      const Tensor&);

// For tests: CPUs have no blocks to fill.
Tensor join_odd_token_cpu(const Tensor& rest_q, const Tensor& rest_k, const Tensor& rest_v, const Tensor& qkv,
                          const Tensor& slope, const Tensor& out, const Tensor& log_sums, const Tensor& tokens) {
  const int64_t samples = qkv.size(0), count = qkv.size(1), heads = rest_q.size(1), d = rest_q.size(3);
  const auto split = [&](const Tensor& x) {
    return x.to(log_sums.scalar_type()).view({samples, count, -1, heads, d}).permute({2, 0, 3, 1, 4}).unbind(0);
  };
  const auto parts = split(qkv);
  const Tensor q = parts[0], k = parts[1], v = parts[2], g = split(slope)[0], o = split(out)[0];
  const auto first = [](const Tensor& x) { return x.narrow(2, 0, 1); };
  const auto dot = [](const Tensor& a, const Tensor& b) { return (a * b).sum(-1, /*keepdim=*/true); };
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  const Tensor sums = log_sums.unsqueeze(-1), delta = dot(g, o);
  const Tensor column = (scale * dot(q, first(k)) - sums).exp(), row = (scale * dot(first(q), k) - first(sums)).exp();
  const Tensor column_slope = scale * column * (dot(g, first(v)) - delta),
               row_slope = scale * row * (dot(first(g), v) - first(delta));
  const auto joined = [&](const Tensor& rest, const Tensor& more, const Tensor& of_first) {
    return at::cat({of_first.sum(2, /*keepdim=*/true), rest + more.narrow(2, 1, count - 1)}, 2).to(tokens.scalar_type());
  };
  return join_heads_into(joined(rest_q, column_slope * first(k), row_slope * k),
                         joined(rest_k, row_slope * first(q), column_slope * q), joined(rest_v, row * first(g), column * g),
                         tokens);
}

}  // namespace

bool has_odd_token(const Heads& heads) {
  constexpr int64_t kBlock = 128;
  const int64_t d = heads.q.size(3);
  return heads.q.is_cuda() && heads.q.element_size() == 2 && heads.q.size(2) > kBlock && heads.q.size(2) % kBlock == 1 &&
         d >= 8 && d <= 256 && std::has_single_bit(static_cast<uint64_t>(d));
}

Tensor join_odd_token(const Heads& rest, const OddToken& in, const Tensor& tokens) {
  const int64_t samples = rest.q.size(0), heads = rest.q.size(1), count = rest.q.size(2) + 1, width = heads * rest.q.size(3);
  TSR_CHECK(rest.k.sizes() == rest.q.sizes() && rest.v.sizes() == rest.q.sizes() &&
                in.qkv.sizes() == at::IntArrayRef({samples, count, 3 * width}) && tokens.sizes() == in.qkv.sizes() &&
                in.slope.sizes() == at::IntArrayRef({samples, count, width}) && in.out.sizes() == in.slope.sizes() &&
                in.log_sums.sizes() == at::IntArrayRef({samples, heads, count}) && in.qkv.is_contiguous() &&
                in.slope.is_contiguous() && in.out.is_contiguous() && tokens.is_contiguous(),
            "gradients of {} tokens of {} samples need everything else of {} tokens, contiguous", count - 1, samples, count);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("tessera::join_odd_token", "").typed<JoinOp>();
  return op.call(rest.q, rest.k, rest.v, in.qkv, in.slope, in.out, in.log_sums, tokens);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "join_odd_token(Tensor rest_q, Tensor rest_k, Tensor rest_v, Tensor qkv, Tensor slope, Tensor out, Tensor log_sums, "
      "Tensor(a!) tokens) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("join_odd_token", join_odd_token_cpu);
}

}  // namespace tessera
