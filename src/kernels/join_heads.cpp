#include "kernels/join_heads.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/find_op.h"

namespace tessera {
namespace {

using Two = std::tuple<at::Tensor, at::Tensor>;
using JoinOp = Two(const at::Tensor&, const at::Tensor&, const at::Tensor&);

Two join_heads_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const int64_t width = 3 * q.size(1) * q.size(3);
  const at::Tensor tokens = at::stack({q, k, v}, 1).permute({0, 3, 1, 2, 4}).reshape({q.size(0), q.size(2), width});
  const at::ScalarType type = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return {tokens, tokens.view({-1, width}).sum(0, /*keepdim=*/false, type)};
}

}  // namespace

JoinedHeads join_heads(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  TSR_CHECK(q.dim() == 4 && k.sizes() == q.sizes() && v.sizes() == q.sizes(), "q, k and v must have one shape of 4 dimensions");
  static const auto op = find_op<JoinOp>("tessera::join_heads");
  auto [tokens, sums] = op.call(q, k, v);
  return {tokens, sums};
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("join_heads(Tensor q, Tensor k, Tensor v) -> (Tensor tokens, Tensor sums)");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("join_heads", join_heads_cpu);
}

}  // namespace tessera
