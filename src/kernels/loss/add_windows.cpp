#include "kernels/loss/add_windows.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/common/fused.h"

namespace tessera {
namespace {

// Uses libtorch's operations, which are good ones on a CPU, and serves devices without a kernel of ours.
void add_windows_plain(const at::Tensor& sum, const at::Tensor& logits, at::IntArrayRef images, at::IntArrayRef lefts,
                       const at::Tensor& weights) {
  at::Tensor scores = logits.to(sum.scalar_type());
  if (scores.sizes().slice(2) != weights.sizes()) scores = at::upsample_bilinear2d(scores, weights.sizes(), false);
  for (size_t b = 0; b < images.size(); ++b) {
    sum[images[b]].narrow(2, lefts[b], weights.size(1)).add_(scores[static_cast<int64_t>(b)] * weights);
  }
}

}  // namespace

at::MemoryFormat window_sum_layout(const at::Tensor& logits) {
  // Lanes of a GPU run over classes.
  return logits.is_cpu() ? at::MemoryFormat::Contiguous : at::MemoryFormat::ChannelsLast;
}

void add_windows(const at::Tensor& sum, const at::Tensor& logits, at::IntArrayRef images, at::IntArrayRef lefts,
                 const at::Tensor& weights) {
  const auto windows = static_cast<size_t>(logits.size(0));
  TSR_CHECK(sum.dim() == 4 && logits.dim() == 4 && sum.size(1) == logits.size(1) && logits.size(2) > 0 && logits.size(3) > 0,
            "expected sums (N, K, h, W) and logits (B, K, h', w')");
  TSR_CHECK(images.size() == windows && lefts.size() == windows,
            "expected an image and a column for each of {} windows, got {} "
            "and {}",
            windows, images.size(), lefts.size());
  TSR_CHECK(weights.dim() == 2 && weights.size(0) == sum.size(2) && weights.scalar_type() == sum.scalar_type() &&
                (sum.scalar_type() == at::kFloat || sum.scalar_type() == at::kDouble),
            "expected weights (h, w) and sums of one type, float32 or float64");
  for (size_t b = 0; b < windows; ++b) {
    TSR_CHECK(images[b] >= 0 && images[b] < sum.size(0) && lefts[b] >= 0 && lefts[b] + weights.size(1) <= sum.size(3),
              "window {} at image {}, column {} lies outside of the sums", b, images[b], lefts[b]);
  }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  if (!use_fused(sum)) return add_windows_plain(sum, logits, images, lefts, weights);
  static const auto op = find_op<decltype(add_windows_plain)>("tessera::add_windows");
  op.call(sum, logits, images, lefts, weights.contiguous());
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("add_windows(Tensor(a!) sum, Tensor logits, int[] images, int[] lefts, Tensor weights) -> ()");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("add_windows", add_windows_plain);
}

}  // namespace tessera
