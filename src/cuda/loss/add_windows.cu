#include <algorithm>

#include "cuda/common/channel_vector.h"
#include "kernels/common/axis.h"

// Traffic: the sums of the pixels that windows reach are read and written once for all windows of a call, 8 bytes a class; the
// logits, a few percent of that, come from the caches.

namespace tessera {
namespace {

constexpr int kThreads = 256, kEach = 4, kMostWindows = 64;
constexpr int kItems = kThreads * kEach;  // vectors of classes that a block makes, side by side in a row of the sums

// Windows of a launch; those of an image follow one another, in a run.
struct Windows {
  int left[kMostWindows];
  int run_end[kMostWindows], run_image[kMostWindows];  // by run
  int count, runs;
};

struct Sizes {
  AxisRule rows, columns;  // of a window
  int width, classes;      // of the sums
};

// A column of the block as the window of the moment sees it.
template <class T>
struct WindowColumn {
  int32_t first, second;  // first < 0: the window does not reach it
  T right, weight;
};

// One block for each kItems vectors of a row of an image's sums. Nobody else adds to them, so nothing needs to be atomic.
template <class T, class S, int V>
__global__ void __launch_bounds__(kThreads)
    add_windows_kernel(const S* logits, Strides from, const __grid_constant__ Windows windows, const Sizes size, T* sum,
                       int64_t image_stride, int blocks_in_row, const T* weights) {
  __shared__ WindowColumn<T> table[kItems + 1];
  const int thread = static_cast<int>(threadIdx.x), vectors = size.classes / V;
  const int block = static_cast<int>(blockIdx.x), row_index = block / blocks_in_row;
  const int height = static_cast<int>(size.rows.out), window_width = static_cast<int>(size.columns.out);
  const int begin = (block - row_index * blocks_in_row) * kItems, all = size.width * vectors;
  const int end = begin + kItems < all ? begin + kItems : all;
  const int run = row_index / height, y = row_index - run * height;
  const int first_column = begin / vectors, first_class = begin - first_column * vectors;
  const int columns = (end - 1) / vectors + 1 - first_column;
  T* const to = sum + windows.run_image[run] * image_stride + (static_cast<int64_t>(y) * all + begin) * V;
  const AxisPoint row = size.rows(y);
  const T down = static_cast<T>(row.weight);
  const auto reaches = [&](int b) {  // for all threads alike
    return windows.left[b] < first_column + columns && windows.left[b] + window_width > first_column;
  };
  const int run_end = windows.run_end[run];
  int b = run == 0 ? 0 : windows.run_end[run - 1];
  while (b < run_end && !reaches(b)) ++b;
  if (b == run_end) return;
  T value[kEach][V];
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int i = thread + e * kThreads;
    const auto before = begin + i < end ? load_channels<T, V>(to + static_cast<int64_t>(i) * V) : Channels<T, V>{};
#pragma unroll
    for (int k = 0; k < V; ++k) value[e][k] = before.value[k];
  }
  for (; b < run_end; ++b) {
    if (!reaches(b)) continue;
    const int left = windows.left[b];
    __syncthreads();  // the table is still being read for the window before
    for (int j = thread; j < columns; j += kThreads) {
      const int x = first_column + j - left;
      if (x < 0 || x >= window_width) {
        table[j].first = -1;
      } else {
        const AxisPoint point = size.columns(x);
        table[j] = {point.first, point.second, static_cast<T>(point.weight), weights[y * window_width + x]};
      }
    }
    __syncthreads();
    const S* const top = logits + b * from.image + row.first * from.row;
    const S* const bottom = logits + b * from.image + row.second * from.row;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int i = thread + e * kThreads;
      if (begin + i >= end) continue;
      const int column = (first_class + i) / vectors, c = (first_class + i - column * vectors) * V;
      const WindowColumn<T> at = table[column];
      if (at.first < 0) continue;
      const int64_t near = at.first * from.column + c, far = at.second * from.column + c;
      const auto a0 = load_channels<S, V>(top + near), a1 = load_channels<S, V>(top + far);
      const auto b0 = load_channels<S, V>(bottom + near), b1 = load_channels<S, V>(bottom + far);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        // Down first, then along, as windows_argmax.
        const T near_value = static_cast<T>(a0.value[k]) + down * (static_cast<T>(b0.value[k]) - static_cast<T>(a0.value[k]));
        const T far_value = static_cast<T>(a1.value[k]) + down * (static_cast<T>(b1.value[k]) - static_cast<T>(a1.value[k]));
        value[e][k] += at.weight * (near_value + at.right * (far_value - near_value));
      }
    }
  }
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int i = thread + e * kThreads;
    if (begin + i < end) store_channels<T, V>(to + static_cast<int64_t>(i) * V, value[e]);
  }
}

// Whether classes can be moved V at a time.
bool fits_packs(const at::Tensor& x, int64_t V) {
  return x.size(1) % V == 0 && x.stride(0) % V == 0 && x.stride(2) % V == 0 && x.stride(3) % V == 0 &&
         reinterpret_cast<uintptr_t>(x.const_data_ptr()) % (V * x.element_size()) == 0;
}

// Takes as many windows from `begin` on as fit into one launch: an image that comes a second time must wait for the next.
Windows next_windows(at::IntArrayRef images, at::IntArrayRef lefts, size_t begin) {
  Windows windows{};
  for (size_t b = begin; b < images.size() && windows.count < kMostWindows; ++b) {
    const int image = static_cast<int>(images[b]);
    if (windows.runs == 0 || windows.run_image[windows.runs - 1] != image) {
      const auto* const known = windows.run_image;
      if (std::find(known, known + windows.runs, image) != known + windows.runs) break;
      windows.run_image[windows.runs++] = image;
    }
    windows.left[windows.count++] = static_cast<int>(lefts[b]);
    windows.run_end[windows.runs - 1] = windows.count;
  }
  return windows;
}

template <class T, class S>
void run(const at::Tensor& sum, const at::Tensor& logits, at::IntArrayRef images, at::IntArrayRef lefts,
         const at::Tensor& weights) {
  const Sizes size{{logits.size(2), weights.size(0), false},
                   {logits.size(3), weights.size(1), false},
                   static_cast<int>(sum.size(3)),
                   static_cast<int>(sum.size(1))};
  const int pack = fits_packs(logits, 4) && fits_packs(sum, 4) && sizeof(T) == 4 ? 4
                   : fits_packs(logits, 2) && fits_packs(sum, 2)                 ? 2
                                                                                 : 1;
  const auto kernel = pack == 4 ? add_windows_kernel < T, S,
             sizeof(T) == 4 ? 4 : 2 >
      : pack == 2 ? add_windows_kernel<T, S, 2>
                  : add_windows_kernel<T, S, 1>;
  const int blocks_in_row = static_cast<int>(divide_up(sum.size(3) * (size.classes / pack), kItems));
  for (size_t begin = 0; begin < images.size();) {
    const Windows windows = next_windows(images, lefts, begin);
    launch(kernel, static_cast<unsigned>(windows.runs * weights.size(0) * blocks_in_row), kThreads, 0,
           logits.const_data_ptr<S>() + static_cast<int64_t>(begin) * logits.stride(0), strides_of(logits), windows, size,
           sum.mutable_data_ptr<T>(), sum.stride(0), blocks_in_row, weights.const_data_ptr<T>());
    begin += static_cast<size_t>(windows.count);
  }
}

void add_windows_cuda(const at::Tensor& sum, const at::Tensor& logits, at::IntArrayRef images, at::IntArrayRef lefts,
                      const at::Tensor& weights) {
  TORCH_CHECK(sum.permute({0, 2, 3, 1}).is_contiguous() && sum.size(1) * sum.size(3) < INT32_MAX - kItems,
              "expected sums whose classes lie side by side");
  if (sum.numel() == 0 || images.empty()) return;
  const DeviceGuard guard(sum.device());
  const at::Tensor x = logits.stride(1) == 1 ? logits : logits.contiguous(at::MemoryFormat::ChannelsLast);
  if (sum.scalar_type() == at::kDouble) return run<double, double>(sum, x.to(at::kDouble), images, lefts, weights);
  switch (x.scalar_type()) {
    case at::kBFloat16: return run<float, c10::BFloat16>(sum, x, images, lefts, weights);
    case at::kHalf: return run<float, c10::Half>(sum, x, images, lefts, weights);
    default: return run<float, float>(sum, x.to(at::kFloat), images, lefts, weights);
  }
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("add_windows", add_windows_cuda);
}

}  // namespace tessera
