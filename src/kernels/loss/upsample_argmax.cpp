#include "kernels/loss/upsample_argmax.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/loss/upsample_bands.h"

namespace tessera {
namespace {

using ArgmaxOp = at::Tensor(const at::Tensor&, int64_t, int64_t, bool);

// Fills `result`, (N, H, W) int16.
template <class T>
void run_bands(const at::Tensor& logits, bool align_corners, const at::Tensor& result) {
  const at::IntArrayRef size = result.sizes().slice(1);
  const UpsampleBands<T> bands(logits, size, align_corners);
  bands.for_each([&](int64_t i, T* scratch) {
    ArgmaxBand<T> band{};
    bands.describe(i, /*labels=*/{}, /*ignore=*/0, scratch, band);
    band.result = result.mutable_data_ptr<int16_t>() + bands.image(i) * size[0] * size[1] + band.begin * size[1];
    band_loops<T>().argmax(band);
  });
}

at::Tensor argmax_cpu(const at::Tensor& logits, int64_t height, int64_t width, bool align_corners) {
  const at::Tensor result = at::empty({logits.size(0), height, width}, at::kShort);
  if (logits.scalar_type() == at::kDouble) {
    run_bands<double>(logits, align_corners, result);
  } else {
    run_bands<float>(logits.scalar_type() == at::kHalf ? logits.to(at::kFloat) : logits, align_corners, result);
  }
  return result;
}

}  // namespace

at::Tensor upsample_argmax(const at::Tensor& logits, int64_t height, int64_t width, bool align_corners) {
  TSR_CHECK(logits.dim() == 4 && logits.size(1) > 0 && logits.size(2) > 0 && logits.size(3) > 0 && height > 0 && width > 0 &&
                at::isFloatingType(logits.scalar_type()),
            "expected floating-point logits (N, C, h, w) and a size of at least one pixel");
  static const auto op = find_op<ArgmaxOp>("tessera::upsample_argmax");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(logits, height, width, align_corners);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("upsample_argmax(Tensor logits, int height, int width, bool align_corners) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("upsample_argmax", argmax_cpu);
}

}  // namespace tessera
