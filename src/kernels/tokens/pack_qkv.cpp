#include "kernels/tokens/pack_qkv.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"

namespace tessera {
namespace {

using PackOp = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&);

at::Tensor pack_qkv_grad_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& tokens) {
  tokens.view({q.size(0), q.size(2), 3, q.size(1), q.size(3)}).copy_(at::stack({q, k, v}, 1).permute({0, 3, 1, 2, 4}));
  const at::ScalarType type = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return tokens.view({-1, tokens.size(2)}).sum(0, /*keepdim=*/false, type);
}

}  // namespace

at::Tensor pack_qkv_grad(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& tokens) {
  TSR_CHECK(q.dim() == 4 && k.sizes() == q.sizes() && v.sizes() == q.sizes(), "q, k and v must have one shape of 4 dimensions");
  TSR_CHECK(tokens.sizes() == at::IntArrayRef({q.size(0), q.size(2), 3 * q.size(1) * q.size(3)}) && tokens.is_contiguous() &&
                tokens.scalar_type() == q.scalar_type(),
            "heads cannot be packed into {} numbers of another shape or type", tokens.numel());
  static const auto op = find_op<PackOp>("tessera::pack_qkv_grad");
  return op.call(q, k, v, tokens);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("pack_qkv_grad(Tensor q, Tensor k, Tensor v, Tensor(a!) tokens) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("pack_qkv_grad", pack_qkv_grad_cpu);
}

}  // namespace tessera
