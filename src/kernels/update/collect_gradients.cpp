#include "kernels/update/collect_gradients.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"

namespace tessera {
namespace {

using CollectOp = void(at::Tensor, at::TensorList, at::IntArrayRef, bool);

void collect_gradients_cpu(at::Tensor arena, at::TensorList gradients, at::IntArrayRef offsets, bool add) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor &from = gradients[i], to = arena.as_strided(from.sizes(), from.strides(), offsets[i]);
    if (add) {
      to.add_(from);
    } else {
      to.copy_(from);
    }
  }
}

}  // namespace

void collect_gradients(at::Tensor& arena, const std::vector<at::Tensor>& gradients, const std::vector<int64_t>& offsets,
                       bool add) {
  static const auto op = find_op<CollectOp>("tessera::collect_gradients");
  TSR_CHECK(gradients.size() == offsets.size(), "{} gradients for {} places", gradients.size(), offsets.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor& from = gradients[i];
    TSR_CHECK(from.is_non_overlapping_and_dense() && offsets[i] >= 0 && offsets[i] + from.numel() <= arena.numel() &&
                  from.device() == arena.device(),
              "a gradient of {} values at {} does not fit into an arena of {}", from.numel(), offsets[i], arena.numel());
    const auto type = from.scalar_type();
    TSR_CHECK(type == arena.scalar_type() || type == at::kBFloat16 || type == at::kHalf,
              "expected gradients of the arena's {} or of half precision, got {}", toString(arena.scalar_type()),
              toString(type));
  }
  op.call(arena, gradients, offsets, add);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("collect_gradients(Tensor(a!) arena, Tensor[] gradients, int[] offsets, bool add) -> ()");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("collect_gradients", collect_gradients_cpu);
}

}  // namespace tessera
