#include <ATen/ops/empty.h>

#include <limits>

#include "cuda/common/channel_vector.h"
#include "cuda/loss/warp_argmax.h"
#include "kernels/common/axis.h"
#include "kernels/loss/window_axis.h"

// Traffic: the logits of the windows, from memory once and then from the caches, about (kPixels / ratio + 2) columns of two
// rows for kPixels pixels of a window; 2 bytes are written for a pixel. 16 images of 683 x 512 with 150 classes at a quarter of
// the resolution are 157 MB of bfloat16 logits, where sums of the windows would be 3.4 GB.

namespace tessera {
namespace {

constexpr int kPixels = 8;  // side by side in a row, a warp's work
constexpr int kRows = 8;    // of a block, a warp each: they read much the same logits

struct WindowArguments {
  Strides strides;  // of the logits
  AxisRule rows, columns;
  WindowGrid grid;
  int images, classes;
};

// Logits of a window, interpolated between two of its rows, at the two columns that pixels lie between. Classes are dealt out
// over a warp's lanes, K a lane.
template <class T, class S, int K>
class WindowRow {
 public:
  __device__ WindowRow(const WindowArguments& a, const S* window, int y, int first_class)
      : a_(a), first_class_(first_class), held_(-2) {
    const AxisPoint row = a.rows(y);
    top_ = window + row.first * a.strides.row;
    bottom_ = window + row.second * a.strides.row;
    down_ = static_cast<T>(row.weight);
  }

  // The columns of the pixels to come: `column` and the next. The same for all lanes.
  __device__ void move_to(int column) {
    if (column == held_) return;
    if (column == held_ + 1) {
#pragma unroll
      for (int k = 0; k < K; ++k) left_[k] = right_[k];
    } else {
      load(column, left_);
    }
    load(column + 1 < a_.columns.in ? column + 1 : column, right_);
    held_ = column;
  }

  __device__ void add(T right, T weight, T (&sum)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) sum[k] += weight * (left_[k] + right * (right_[k] - left_[k]));
  }

 private:
  __device__ void load(int column, T (&to)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int c = first_class_ + 32 * k;
      const int64_t at = column * a_.strides.column + (c < a_.classes ? c : 0) * a_.strides.channel;
      const T top = static_cast<T>(top_[at]), bottom = static_cast<T>(bottom_[at]);
      to[k] = top + down_ * (bottom - top);
    }
  }

  const WindowArguments& a_;
  const int first_class_;  // of the lane
  int held_;
  const S *top_, *bottom_;
  T down_;
  T left_[K] = {}, right_[K] = {};
};

// A warp finds the classes of kPixels pixels. More classes than its registers hold are taken in several rounds.
template <class T, class S, int K>
__global__ void __launch_bounds__(32 * kRows) windows_argmax_kernel(const S* logits, const __grid_constant__ WindowArguments a,
                                                                    const T* weights, int blocks_in_row, int16_t* classes) {
  const WindowAxis &rows = a.grid.rows, &columns = a.grid.columns;
  const int height = rows.last + rows.size, width = columns.last + columns.size;
  const int lane = static_cast<int>(threadIdx.x % 32), strip = static_cast<int>(blockIdx.x) / blocks_in_row;
  const int strips = (height + kRows - 1) / kRows, image = strip / strips;
  const int y = (strip - image * strips) * kRows + static_cast<int>(threadIdx.x / 32);
  const int x = (static_cast<int>(blockIdx.x) - strip * blocks_in_row) * kPixels;
  if (y >= height) return;
  const int count = width - x < kPixels ? width - x : kPixels;
  const WindowRange window_rows = rows.over(y), window_columns{columns.over(x).begin, columns.over(x + count - 1).end};
  T best[kPixels];
  int found[kPixels];
#pragma unroll
  for (int q = 0; q < kPixels; ++q) {
    best[q] = -std::numeric_limits<T>::infinity();
    found[q] = INT32_MAX;
  }
  for (int first_class = lane; first_class - lane < a.classes; first_class += 32 * K) {
    T sum[kPixels][K] = {};
    for (int row = window_rows.begin; row < window_rows.end; ++row) {
      const int window_y = y - rows.start(row);
      for (int column = window_columns.begin; column < window_columns.end; ++column) {
        // A lane knows where one of the pixels lies in the window.
        const int window_x = x + lane - columns.start(column);
        int own_column = -1;
        T own_right = 0, own_weight = 0;
        if (lane < count && window_x >= 0 && window_x < columns.size) {
          const AxisPoint point = a.columns(window_x);
          own_column = point.first;
          own_right = static_cast<T>(point.weight);
          own_weight = weights[window_y * columns.size + window_x];
        }
        const int64_t window = (static_cast<int64_t>(row) * a.images + image) * columns.count + column;
        WindowRow<T, S, K> window_row(a, logits + window * a.strides.image, window_y, first_class);
#pragma unroll
        for (int q = 0; q < kPixels; ++q) {
          const int at = __shfl_sync(kAllLanes, own_column, q);
          const T right = __shfl_sync(kAllLanes, own_right, q), weight = __shfl_sync(kAllLanes, own_weight, q);
          if (at < 0) continue;
          window_row.move_to(at);
          window_row.add(right, weight, sum[q]);
        }
      }
    }
#pragma unroll
    for (int q = 0; q < kPixels; ++q) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int c = first_class + 32 * k;
        if (c < a.classes && sum[q][k] > best[q]) {
          best[q] = sum[q][k];
          found[q] = c;
        }
      }
    }
  }
  int own = 0;
#pragma unroll
  for (int q = 0; q < kPixels; ++q) {
    const int of_all = warp_argmax(best[q], found[q]);
    own = lane == q ? of_all : own;
  }
  if (lane < count) {
    classes[(static_cast<int64_t>(image) * height + y) * width + x + lane] =
        static_cast<int16_t>(own == INT32_MAX ? 0 : own);  // nothing but NaN
  }
}

template <class T, class S>
void run(const at::Tensor& logits, const at::Tensor& weights, const WindowGrid& grid, const at::Tensor& result) {
  const WindowArguments a{strides_of(logits),
                          {logits.size(2), weights.size(0), false},
                          {logits.size(3), weights.size(1), false},
                          grid,
                          static_cast<int>(result.size(0)),
                          static_cast<int>(logits.size(1))};
  const int64_t blocks_in_row = divide_up(result.size(2), kPixels);
  const int64_t blocks = result.size(0) * divide_up(result.size(1), kRows) * blocks_in_row;
  TORCH_CHECK(blocks < INT32_MAX && weights.numel() < INT32_MAX, "expected fewer pixels, got ", result.sizes());
  const auto start = [&](auto kernel) {
    launch(kernel, static_cast<unsigned>(blocks), 32 * kRows, 0, logits.const_data_ptr<S>(), a, weights.const_data_ptr<T>(),
           static_cast<int>(blocks_in_row), result.mutable_data_ptr<int16_t>());
  };
  if constexpr (std::is_same_v<T, float>) {  // float64 is for checking, and needs no more kernels
    if (a.classes > 96) return start(windows_argmax_kernel<T, S, 5>);
    if (a.classes > 32) return start(windows_argmax_kernel<T, S, 3>);
  }
  start(windows_argmax_kernel<T, S, 1>);
}

at::Tensor windows_argmax_cuda(const at::Tensor& logits, const at::Tensor& weights, at::IntArrayRef size,
                               at::IntArrayRef stride) {
  const DeviceGuard guard(logits.device());
  const WindowGrid grid{{size[0], weights.size(0), stride[0]}, {size[1], weights.size(1), stride[1]}};
  const int64_t images = logits.size(0) / (int64_t{grid.rows.count} * grid.columns.count);
  const at::Tensor result =
      at::empty({images, size[0], size[1]}, logits.options().dtype(at::kShort).memory_format(std::nullopt));
  if (images == 0) return result;
  const at::Tensor x = logits.stride(1) == 1 ? logits : logits.contiguous(at::MemoryFormat::ChannelsLast);
  switch (x.scalar_type()) {
    case at::kDouble: run<double, double>(x, weights, grid, result); break;
    case at::kBFloat16: run<float, c10::BFloat16>(x, weights, grid, result); break;
    case at::kHalf: run<float, c10::Half>(x, weights, grid, result); break;
    default: run<float, float>(x.to(at::kFloat), weights, grid, result);
  }
  return result;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("windows_argmax", windows_argmax_cuda);
}

}  // namespace tessera
