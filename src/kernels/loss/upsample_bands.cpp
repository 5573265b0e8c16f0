#include "kernels/loss/upsample_bands.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "kernels/common/axis.h"
#include "kernels/common/simd_level.h"
#include "kernels/loss/short_labels.h"
#include "tensor/parallel_for.h"

namespace tessera {

TSR_CHOOSE_LOOPS_FOR(BandLoops, kBandLoops, band_loops)

template <class T>
Axis<T>::Axis(int64_t in, int64_t out, bool align_corners) {
  const AxisRule rule(in, out, align_corners);
  for (int64_t i = 0; i < out; ++i) {
    const AxisPoint point = rule(i);
    first.push_back(point.first);
    second.push_back(point.second);
    weight.push_back(static_cast<T>(point.weight));
  }
}

// Up to this many classes that lie side by side are cheaper to turn around into vectors of pixels.
constexpr int64_t kFewClasses = 24;

template <class T>
UpsampleBands<T>::UpsampleBands(const at::Tensor& logits, at::IntArrayRef size, bool align_corners)
    : logits_(logits),
      out_height_(size[0]),
      out_width_(size[1]),
      pixelwise_(logits.sizes().slice(2) == size && (logits.stride(3) == 1 || logits.size(1) <= kFewClasses)),
      y_(logits.size(2), size[0], align_corners),
      x_(logits.size(3), size[1], align_corners) {
  // Enough bands for the cores of one socket at batch 1; each long enough that the rows it shares with others do not matter.
  constexpr int64_t kMostBands = 32, kFewestRows = 16;
  const int64_t bands = std::clamp<int64_t>(out_height_ / kFewestRows, 1, kMostBands);
  rows_ = std::max<int64_t>(1, (out_height_ + bands - 1) / bands);
  per_image_ = (out_height_ + rows_ - 1) / rows_;
}

template <class T>
void UpsampleBands<T>::describe(int64_t band, const at::Tensor& labels, int64_t ignore, T* scratch, Band<T>& to) const {
  const int64_t n = image(band);
  to.type = logits_.scalar_type() == at::kBFloat16 ? LogitType::kBFloat16
            : logits_.scalar_type() == at::kDouble ? LogitType::kDouble
                                                   : LogitType::kFloat;
  to.logits = static_cast<const char*>(logits_.const_data_ptr()) + n * logits_.stride(0) * logits_.element_size();
  to.stride_class = logits_.stride(1);
  to.stride_y = logits_.stride(2);
  to.stride_x = logits_.stride(3);
  to.classes = logits_.size(1);
  to.height = logits_.size(2);
  to.width = logits_.size(3);
  to.out_width = out_width_;
  to.begin = begin(band);
  to.end = end(band);
  to.rows = y_.view();
  to.columns = x_.view();
  to.pixelwise = pixelwise_;
  to.labels = labels.defined() ? labels.const_data_ptr<int16_t>() + (n * out_height_ + to.begin) * out_width_ : nullptr;
  to.ignore = static_cast<int16_t>(ignore);
  to.scratch = scratch;
}

template <class T>
void UpsampleBands<T>::for_each(const std::function<void(int64_t, T*)>& work) const {
  const int64_t scratch_size = band_loops<T>().scratch_size(logits_.size(1), logits_.size(3));
  parallel_for(0, count(), 1, [&](int64_t begin, int64_t end) {
    const at::Tensor scratch = at::empty({scratch_size}, at::CppTypeToScalarType<T>::value);
    for (int64_t band = begin; band < end; ++band) work(band, scratch.mutable_data_ptr<T>());
  });
}

template struct Axis<float>;
template struct Axis<double>;
template class UpsampleBands<float>;
template class UpsampleBands<double>;

at::Tensor check_labels(const at::Tensor& logits, const at::Tensor& labels) {
  TSR_CHECK(logits.dim() == 4 && labels.dim() == 3 && logits.size(0) == labels.size(0),
            "expected logits (N, C, h, w) and labels (N, H, W) of the same images, got {} and {}",
            fmt::join(logits.sizes(), " x "), fmt::join(labels.sizes(), " x "));
  TSR_CHECK(at::isFloatingType(logits.scalar_type()) && at::isIntegralType(labels.scalar_type(), /*includeBool=*/false),
            "expected floating-point logits and integer labels, got {} and {}", toString(logits.scalar_type()),
            toString(labels.scalar_type()));
  TSR_CHECK(logits.size(1) > 0 && logits.size(1) <= INT16_MAX, "expected 1 to {} classes, got {}", INT16_MAX, logits.size(1));
  TSR_CHECK(logits.size(2) > 0 && logits.size(3) > 0, "expected logits of at least one pixel, got {}",
            fmt::join(logits.sizes(), " x "));
  return short_labels(labels);
}

}  // namespace tessera
