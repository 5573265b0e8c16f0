#include "kernels/tokens/attention_gradients.h"

#include <torch/library.h>

#include "kernels/common/find_op.h"

namespace tessera {
namespace {

using GradientsOp = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, int64_t, bool);

}  // namespace

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
