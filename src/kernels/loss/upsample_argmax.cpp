#include "kernels/loss/upsample_argmax.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <mutex>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/loss/upsample_bands.h"

namespace tessera {
namespace {

using ArgmaxOp = at::Tensor(const at::Tensor&, int64_t, int64_t, bool);
using ConfusionOp = at::Tensor(const at::Tensor&, const at::Tensor&, int64_t, bool);

// Fills `result` (N, H, W) int16 or, where it is undefined, counts (label, prediction): (C * C + 1), the last where a label is
// no class.
template <class T>
at::Tensor run_bands(const at::Tensor& logits, at::IntArrayRef size, const at::Tensor& labels, int64_t ignore,
                     bool align_corners, const at::Tensor& result) {
  const UpsampleBands<T> bands(logits, size, align_corners);
  const int64_t classes = logits.size(1), pixels = size[0] * size[1];
  // Whole numbers: the order in which bands add them does not matter.
  const at::Tensor counts = result.defined() ? at::Tensor() : at::zeros({classes * classes + 1}, at::kLong);
  std::mutex counts_mutex;
  bands.for_each([&](int64_t i, T* scratch) {
    ArgmaxBand<T> band{};
    bands.describe(i, labels, ignore, scratch, band);
    at::Tensor own;
    if (result.defined()) {
      band.result = result.mutable_data_ptr<int16_t>() + bands.image(i) * pixels + band.begin * size[1];
    } else {
      own = at::zeros_like(counts);
      band.confusion = own.mutable_data_ptr<int64_t>();
    }
    band_loops<T>().argmax(band);
    if (!own.defined()) return;
    if (band.bad_label) own[classes * classes] += 1;
    const std::lock_guard lock(counts_mutex);
    counts.add_(own);
  });
  return result.defined() ? result : counts;
}

at::Tensor run(const at::Tensor& logits, at::IntArrayRef size, const at::Tensor& labels, int64_t ignore, bool align_corners,
               const at::Tensor& result) {
  if (logits.scalar_type() == at::kDouble) return run_bands<double>(logits, size, labels, ignore, align_corners, result);
  const at::Tensor x = logits.scalar_type() == at::kHalf ? logits.to(at::kFloat) : logits;
  return run_bands<float>(x, size, labels, ignore, align_corners, result);
}

at::Tensor argmax_cpu(const at::Tensor& logits, int64_t height, int64_t width, bool align_corners) {
  const at::Tensor result = at::empty({logits.size(0), height, width}, at::kShort);
  return run(logits, {height, width}, {}, 0, align_corners, result);
}

at::Tensor confusion_cpu(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners) {
  return run(logits, labels.sizes().slice(1), labels, ignore, align_corners, {});
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

at::Tensor upsample_confusion(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners) {
  static const auto op = find_op<ConfusionOp>("tessera::upsample_confusion");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const at::Tensor counts = op.call(logits, check_labels(logits, labels), ignore, align_corners).cpu();
  const int64_t classes = logits.size(1), pairs = classes * classes;
  TSR_CHECK(counts.const_data_ptr<int64_t>()[pairs] == 0,
            "expected labels in 0..{} or {} (ignored); check the number of classes and the label mapping", classes - 1, ignore);
  return counts.narrow(0, 0, pairs).view({classes, classes});
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("upsample_argmax(Tensor logits, int height, int width, bool align_corners) -> Tensor");
  m.def("upsample_confusion(Tensor logits, Tensor labels, int ignore, bool align_corners) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("upsample_argmax", argmax_cpu);
  m.impl("upsample_confusion", confusion_cpu);
}

}  // namespace tessera
