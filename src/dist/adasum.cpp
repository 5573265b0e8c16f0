#include "dist/adasum.h"

#include <torch/types.h>

#include "core/error.h"
#include "dist/multiply.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

double product(const at::Tensor& a, const at::Tensor& b) {
  return make_with_kept_memory([&] { return a.to(at::kDouble).dot(b.to(at::kDouble)).item<double>(); });
}

}  // namespace

void adasum(Communicator& communicator, at::Tensor gradients, const std::vector<std::pair<int64_t, int64_t>>& layers) {
  const int size = communicator.size();
  TSR_CHECK((size & (size - 1)) == 0, "dist.reduction=adasum needs a number of ranks that is a power of two, got {}", size);
  for (int distance = 1; distance < size; distance *= 2) {
    const int peer = communicator.rank() ^ distance;
    const at::Tensor other = communicator.swap(gradients, peer);
    const bool first = communicator.rank() < peer;  // both compute the same, in the same order
    for (const auto& [offset, numel] : layers) {
      at::Tensor own = gradients.narrow(0, offset, numel), theirs = other.narrow(0, offset, numel);
      at::Tensor a = first ? own : theirs, b = first ? theirs : own;
      const double dot = product(a, b), aa = product(a, a), bb = product(b, b);
      multiply(a, aa > 0 ? 1 - dot / (2 * aa) : 1);
      multiply(b, bb > 0 ? 1 - dot / (2 * bb) : 1);
      own.add_(theirs);
    }
  }
}

}  // namespace tessera
