#include "kernels/loss/windows_argmax.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/error.h"
#include "kernels/common/axis.h"
#include "kernels/common/find_op.h"
#include "tensor/parallel_for.h"

namespace tessera {
namespace {

using WindowsArgmaxOp = at::Tensor(const at::Tensor&, const at::Tensor&, at::IntArrayRef, at::IntArrayRef);

// The sums of one row of pixels at a time, classes side by side.
template <class T>
class RowSums {
 public:
  RowSums(const at::Tensor& logits, const at::Tensor& weights, const WindowGrid& grid, int64_t images)
      : logits_(logits.const_data_ptr<T>()),
        weights_(weights.const_data_ptr<T>()),
        grid_(grid),
        images_(images),
        classes_(logits.size(1)),
        low_width_(logits.size(3)),
        low_rows_(logits.size(2), weights.size(0), /*align_corners=*/false),
        sums_(static_cast<size_t>((grid.columns.last + grid.columns.size) * classes_)),
        row_(static_cast<size_t>(low_width_ * classes_)) {
    const AxisRule rule(low_width_, weights.size(1), /*align_corners=*/false);
    for (int64_t x = 0; x < weights.size(1); ++x) columns_.push_back(rule(x));
  }

  void classify(int64_t image, int y, int16_t* result) {
    std::fill(sums_.begin(), sums_.end(), T(0));
    const WindowRange rows = grid_.rows.over(y);
    for (int row = rows.begin; row < rows.end; ++row) {
      for (int column = 0; column < grid_.columns.count; ++column) {
        add((row * images_ + image) * grid_.columns.count + column, y - grid_.rows.start(row), grid_.columns.start(column));
      }
    }
    for (const T *at = sums_.data(), *const end = at + sums_.size(); at != end; at += classes_) {
      T most = -std::numeric_limits<T>::infinity();
      int64_t found = 0;
      for (int64_t c = 0; c < classes_; ++c) {
        found = at[c] > most ? c : found;
        most = at[c] > most ? at[c] : most;
      }
      *result++ = static_cast<int16_t>(found);
    }
  }

 private:
  // Row `y` of a window, to the sums from column `left` on: down the logits first, then along.
  void add(int64_t window, int y, int left) {
    const AxisPoint point = low_rows_(y);
    const T down = static_cast<T>(point.weight);
    const int64_t pitch = low_width_ * classes_;
    const T* const top = logits_ + (window * low_rows_.in + point.first) * pitch;
    const T* const bottom = logits_ + (window * low_rows_.in + point.second) * pitch;
    for (int64_t i = 0; i < pitch; ++i) row_[static_cast<size_t>(i)] = top[i] + down * (bottom[i] - top[i]);
    const T* weight = weights_ + static_cast<int64_t>(y) * std::ssize(columns_);
    T* sum = sums_.data() + left * classes_;
    for (const AxisPoint& at : columns_) {
      const T* const a = row_.data() + at.first * classes_;
      const T* const b = row_.data() + at.second * classes_;
      const T right = static_cast<T>(at.weight), window_weight = *weight++;
      for (int64_t c = 0; c < classes_; ++c) sum[c] += window_weight * (a[c] + right * (b[c] - a[c]));
      sum += classes_;
    }
  }

  const T* logits_;
  const T* weights_;
  WindowGrid grid_;
  int64_t images_, classes_, low_width_;
  AxisRule low_rows_;
  std::vector<AxisPoint> columns_;  // of a window
  std::vector<T> sums_, row_;
};

template <class T>
void classify_rows(const at::Tensor& logits, const at::Tensor& weights, const WindowGrid& grid, const at::Tensor& result) {
  const int64_t height = result.size(1), width = result.size(2);
  parallel_for(0, result.size(0) * height, 16, [&](int64_t begin, int64_t end) {
    RowSums<T> sums(logits, weights, grid, result.size(0));
    for (int64_t line = begin; line < end; ++line) {
      sums.classify(line / height, static_cast<int>(line % height), result.mutable_data_ptr<int16_t>() + line * width);
    }
  });
}

at::Tensor windows_argmax_cpu(const at::Tensor& logits, const at::Tensor& weights, at::IntArrayRef size,
                              at::IntArrayRef stride) {
  const WindowGrid grid{{size[0], weights.size(0), stride[0]}, {size[1], weights.size(1), stride[1]}};
  const int64_t images = logits.size(0) / (int64_t{grid.rows.count} * grid.columns.count);
  const at::Tensor result = at::empty({images, size[0], size[1]}, at::kShort);
  const at::Tensor x = logits.to(weights.scalar_type()).contiguous(at::MemoryFormat::ChannelsLast);
  x.scalar_type() == at::kDouble ? classify_rows<double>(x, weights, grid, result)
                                 : classify_rows<float>(x, weights, grid, result);
  return result;
}

}  // namespace

at::Tensor windows_argmax(const at::Tensor& logits, const at::Tensor& weights, const WindowGrid& grid) {
  const at::ScalarType type = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  TSR_CHECK(logits.dim() == 4 && logits.size(1) > 0 && logits.size(2) > 0 && logits.size(3) > 0,
            "expected logits (windows, C, h, w)");
  const int64_t windows = int64_t{grid.rows.count} * grid.columns.count;
  TSR_CHECK(logits.size(0) % windows == 0, "expected {} windows of each image, got {} in all", windows, logits.size(0));
  TSR_CHECK(weights.dim() == 2 && weights.size(0) == grid.rows.size && weights.size(1) == grid.columns.size &&
                weights.scalar_type() == type,
            "expected weights {} x {} of type {}", grid.rows.size, grid.columns.size, toString(type));
  static const auto op = find_op<WindowsArgmaxOp>("tessera::windows_argmax");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(logits, weights.contiguous(),
                 {int64_t{grid.rows.last} + grid.rows.size, int64_t{grid.columns.last} + grid.columns.size},
                 {grid.rows.stride, grid.columns.stride});
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("windows_argmax(Tensor logits, Tensor weights, int[] size, int[] stride) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("windows_argmax", windows_argmax_cpu);
}

}  // namespace tessera
