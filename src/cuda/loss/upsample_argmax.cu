#include <ATen/ops/empty.h>

#include <limits>

#include "cuda/loss/argmax_cells.h"
#include "cuda/loss/argmax_pixels.h"

namespace tessera {
namespace {

// For more classes than registers hold: a warp finds the classes of one cell's pixels (see upsample_axis.h). Classes are dealt
// out over the lanes; the corners' logits are read again for each row of pixels, from the nearest cache.
template <class T>
struct CellClasses {
  __device__ CellClasses(const LogitArguments& a, int image, int top, int left) : a_(a) {
    lane_ = static_cast<int>(threadIdx.x % 32);
    offset_[0][0] = a.offset(image, top, left);
    offset_[0][1] = a.offset(image, top, a.columns.second(left));
    offset_[1][0] = a.offset(image, a.rows.second(top), left);
    offset_[1][1] = a.offset(image, a.rows.second(top), a.columns.second(left));
  }

  // Finds the classes of up to kGroup pixels of a row, whose columns have these weights.
  static constexpr int kGroup = 4;
  __device__ void find(T down, const T (&right)[kGroup], int (&found)[kGroup]) const {
    T best[kGroup];
    for (int q = 0; q < kGroup; ++q) {
      best[q] = -std::numeric_limits<T>::infinity();
      found[q] = INT32_MAX;
    }
    for (int c = lane_; c < a_.classes; c += 32) {
      const int64_t along = c * a_.strides.channel;
      const T top_left = a_.template logit<T>(offset_[0][0] + along), top_right = a_.template logit<T>(offset_[0][1] + along);
      const T left = top_left + down * (a_.template logit<T>(offset_[1][0] + along) - top_left);
      const T step = top_right + down * (a_.template logit<T>(offset_[1][1] + along) - top_right) - left;
      for (int q = 0; q < kGroup; ++q) {
        const T z = left + right[q] * step;
        if (z > best[q]) {
          best[q] = z;
          found[q] = c;
        }
      }
    }
    for (int q = 0; q < kGroup; ++q) {
      for (int distance = 16; distance > 0; distance /= 2) {
        const T other = __shfl_xor_sync(kAllLanes, best[q], distance);
        const int other_class = __shfl_xor_sync(kAllLanes, found[q], distance);
        if (other > best[q] || (other == best[q] && other_class < found[q])) {
          best[q] = other;
          found[q] = other_class;
        }
      }
      if (found[q] == INT32_MAX) found[q] = 0;  // nothing but NaN
    }
  }

 private:
  const LogitArguments& a_;
  int64_t offset_[2][2];
  int lane_;
};

template <class T>
__global__ void __launch_bounds__(32 * kArgmaxWarps) argmax_kernel(const LogitArguments a, int64_t cells, int16_t* classes) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * kArgmaxWarps + threadIdx.x / 32;
  if (cell >= cells) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int left = static_cast<int>(cell % a.columns.in), top = static_cast<int>(cell / a.columns.in % a.rows.in);
  const int image = static_cast<int>(cell / a.columns.in / a.rows.in);
  const CellClasses<T> of_cell(a, image, top, left);
  constexpr int kGroup = CellClasses<T>::kGroup;
  const int y_end = a.rows.begin(top + 1), x_begin = a.columns.begin(left), x_end = a.columns.begin(left + 1);
  for (int y = a.rows.begin(top); y < y_end; ++y) {
    for (int x = x_begin; x < x_end; x += kGroup) {
      T right[kGroup];
      int found[kGroup];
      for (int q = 0; q < kGroup; ++q) right[q] = static_cast<T>(a.columns.weight(x + q < x_end ? x + q : x, left));
      of_cell.find(static_cast<T>(a.rows.weight(y, top)), right, found);
      const int64_t pixel = (static_cast<int64_t>(image) * a.rows.out + y) * a.columns.out + x;
      for (int q = 0; q < kGroup; ++q) {
        if (lane == q && x + q < x_end) classes[pixel + q] = static_cast<int16_t>(found[q]);
      }
    }
  }
}

// Starts the kernels of planes or tiles, where nothing is interpolated; false where the classes lie otherwise, or are too many.
bool start_pixels(const LogitArguments& a, size_t element, int16_t* classes) {
  if (a.strides.column == 1 && (a.strides.channel != 1 || a.classes == 1)) {
    const int64_t pixels = static_cast<int64_t>(a.images) * a.rows.out * a.columns.out;
    with_stored_type<float>(a.type, [&](auto stored) {
      launch(plane_argmax_kernel<float, decltype(stored)>, blocks_for(pixels, kPlaneThreads), kPlaneThreads, 0, a, classes);
    });
    return true;
  }
  const auto tiles = plan_tiles(a, element);
  if (!tiles) return false;
  with_packs<float>(a.type, *tiles, [&](auto stored, auto pack) {
    launch(tile_argmax_kernel<float, decltype(stored), pack()>, static_cast<unsigned>(tiles->cut.count), tiles->cut.pixels,
           tiles->tile_bytes, a, *tiles, classes);
  });
  return true;
}

// Starts the kernels of pixels or of cells, by the logits' layout and size.
template <class T>
void start(const LogitArguments& a, size_t element, int16_t* classes) {
  constexpr bool kMany = std::is_same_v<T, float>;  // float64 is for checking, and needs no more kernels
  if constexpr (kMany) {
    if (a.rows.in == a.rows.out && a.columns.in == a.columns.out && start_pixels(a, element, classes)) return;
  }
  if (a.classes > kMostLanesClasses<T>) {
    const int64_t cells = static_cast<int64_t>(a.images) * a.rows.in * a.columns.in;
    return launch(argmax_kernel<T>, blocks_for(cells, kArgmaxWarps), 32 * kArgmaxWarps, 0, a, cells, classes);
  }
  const CellWalks walks = plan_walks(a);
  with_stored_type<T>(a.type, [&](auto stored) {
    using S = decltype(stored);
    const auto walk = [&](auto kernel) {
      launch(kernel, blocks_for(walks.count, kArgmaxWarps), 32 * kArgmaxWarps, 0, a, walks, classes);
    };
    if constexpr (kMany) {
      if (a.classes > 160) return walk(cell_argmax_kernel<T, S, 8>);
      if (a.classes > 96) return walk(cell_argmax_kernel<T, S, 5>);
      if (a.classes > 32) return walk(cell_argmax_kernel<T, S, 3>);
    }
    walk(cell_argmax_kernel<T, S, 1>);
  });
}

at::Tensor argmax_cuda(const at::Tensor& logits, int64_t height, int64_t width, bool align_corners) {
  const DeviceGuard guard(logits.device());
  const LogitArguments a = logit_arguments(logits, {height, width}, align_corners);
  const at::Tensor result =
      at::empty({logits.size(0), height, width}, logits.options().memory_format(std::nullopt).dtype(at::kShort));
  if (logits.size(0) == 0) return result;
  auto* const classes = result.mutable_data_ptr<int16_t>();
  logits.scalar_type() == at::kDouble ? start<double>(a, logits.element_size(), classes)
                                      : start<float>(a, logits.element_size(), classes);
  return result;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("upsample_argmax", argmax_cuda);
}

}  // namespace tessera
