#include "kernels/norm/norm_slabs.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "kernels/common/simd_level.h"
#include "tensor/parallel_for.h"

namespace tessera {

TSR_CHOOSE_LOOPS_FOR(NormLoops, kNormLoops, norm_loops)

template <class T>
NormSlabs<T>::NormSlabs(const at::Tensor& x, at::IntArrayRef ends)
    : x_(x),
      channels_(x.size(1)),
      pixels_(x.size(2) * x.size(3)),
      width_(norm_loops<T>().width(channels_)),
      planes_(x.is_contiguous() && pixels_ > 1) {
  // Tiles of about 128 KiB, which a core keeps at hand; of enough rows that their sums do not matter, and of so few that
  // float32 sums stay exact enough.
  constexpr int64_t kValues = 32768, kFewestRows = 64, kMostRows = 4096;
  const int64_t rows = planes_ ? kMostRows : std::clamp(kValues / channels_, kFewestRows, kMostRows);
  int64_t first = 0;
  for (size_t g = 0; g < ends.size(); ++g) {
    const auto group = static_cast<int64_t>(g);
    counts_.push_back(static_cast<double>((ends[g] - first) * pixels_));
    // Slabs of planes end with their sample.
    const int64_t stretches = planes_ ? ends[g] - first : 1, length = planes_ ? pixels_ : (ends[g] - first) * pixels_;
    for (int64_t s = 0; s < stretches; ++s) {
      const int64_t begin = (first + s) * pixels_ * channels_;
      for (int64_t row = 0; row < length; row += rows) {
        slabs_.push_back({group, begin + row * (planes_ ? 1 : channels_), std::min(rows, length - row)});
      }
    }
    first = ends[g];
  }
}

template <class T>
at::Tensor NormSlabs<T>::alike(const at::Tensor& other) const {
  return other.to(x_.scalar_type()).contiguous(planes_ ? at::MemoryFormat::Contiguous : at::MemoryFormat::ChannelsLast);
}

template <class T>
void NormSlabs<T>::for_each(const std::function<void(Place&)>& work) const {
  const auto type = x_.scalar_type() == at::kBFloat16 ? NormType::kBFloat16
                    : x_.scalar_type() == at::kDouble ? NormType::kDouble
                                                      : NormType::kFloat;
  const int64_t parts = planes_ ? channels_ : 1, plane_width = norm_loops<T>().width(1);
  constexpr int64_t kLeastValues = 16384;  // for a thread to be worth waking
  const int64_t tiles = static_cast<int64_t>(slabs_.size()) * parts;
  const int64_t grain = std::max<int64_t>(1, kLeastValues * tiles / std::max<int64_t>(1, x_.numel()));
  parallel_for(0, tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Slab& slab = slabs_[static_cast<size_t>(i / parts)];
      const int64_t c = i % parts;
      Place place{};
      place.tile.type = type;
      place.tile.rows = slab.rows;
      place.tile.channels = planes_ ? 1 : channels_;
      place.tile.width = planes_ ? plane_width : width_;
      place.offset = slab.at + c * pixels_;
      place.slot = i / parts * channels_ + c;
      place.table_offset = slab.group * table_width() + c;
      work(place);
    }
  });
}

template class NormSlabs<float>;
template class NormSlabs<double>;

}  // namespace tessera
