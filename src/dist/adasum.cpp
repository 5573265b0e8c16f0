#include "dist/adasum.h"

#include <torch/types.h>

#include "core/error.h"

namespace tessera {
namespace {

double product(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble).dot(b.to(at::kDouble)).item<double>();
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
      at::Tensor own = gradients.narrow(0, offset, numel);
      const at::Tensor theirs = other.narrow(0, offset, numel);
      const at::Tensor a = first ? own : theirs, b = first ? theirs : own;
      const double dot = product(a, b), aa = product(a, a), bb = product(b, b);
      const double share_a = aa > 0 ? 1 - dot / (2 * aa) : 1, share_b = bb > 0 ? 1 - dot / (2 * bb) : 1;
      own.copy_(a * share_a + b * share_b);
    }
  }
}

}  // namespace tessera
