#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "cuda/common/channel_vector.h"
#include "cuda/common/column_sums.h"
#include "cuda/common/pixel_rows.h"

// Pixels of an image of twice the size, and the rows of a matrix that hold the four pixels of each window, see
// kernels/features/upconv_concat.h. Traffic: both read or written once. A pixel's channels are whole runs of memory on both
// sides.

namespace tessera {
namespace {

constexpr int kUpconvThreads = 256;
constexpr int kUpconvRounds = 4;  // vectors that each thread has on their way

// Where a pixel of the image lies in the matrix, counted in pixels. An image has an even number of lines, so that lines of a
// whole batch pair up. width: of the matrix's image.
__device__ __forceinline__ int64_t place_in_rows(int pixel, int width) {
  const int line = pixel / (2 * width), column = pixel - line * 2 * width;
  const int64_t window = static_cast<int64_t>(line / 2) * width + column / 2;
  return 4 * window + 2 * (line & 1) + (column & 1);
}

template <class S>
struct ScatterArguments {
  const S* rows;
  const Compute<S>* bias;
  const S* skip;  // or null
  S* out;
  int64_t skip_pitch, pitch;  // numbers from pixel to pixel
  int pixels, width;
  int row_vectors, vectors;  // of a pixel: of the matrix, and with the skip's
};

template <class S, int V>
__global__ void __launch_bounds__(kUpconvThreads) scatter_2x2_kernel(ScatterArguments<S> p, int block_pixels) {
  const int first = static_cast<int>(blockIdx.x) * block_pixels;
  const int count = min(block_pixels, p.pixels - first) * p.vectors;
#pragma unroll kUpconvRounds
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kUpconvThreads) {
    const int pixel = first + i / p.vectors, vector = i % p.vectors, channel = vector * V;
    Channels<S, V> values;
    if (vector < p.row_vectors) {
      values = load_channels<S, V>(p.rows + place_in_rows(pixel, p.width) * p.row_vectors * V + channel);
#pragma unroll
      for (int k = 0; k < V; ++k)
        values.value[k] = static_cast<S>(static_cast<Compute<S>>(values.value[k]) + p.bias[channel + k]);
    } else {
      values = load_channels<S, V>(p.skip + pixel * p.skip_pitch + channel - p.row_vectors * V);
    }
    *reinterpret_cast<Channels<S, V>*>(p.out + pixel * p.pitch + channel) = values;
  }
}

// A block has `columns` vectors of channels side by side and takes its pixels in turn; its sums go to parts (blocks, C).
template <class S, int V>
__global__ void __launch_bounds__(kUpconvThreads)
    gather_2x2_kernel(const S* x, int64_t pitch, int pixels, int width, int block_pixels, int columns, int channels, S* rows,
                      Compute<S>* parts) {
  using T = Compute<S>;
  const int lane = static_cast<int>(threadIdx.x) % columns, row_lane = static_cast<int>(threadIdx.x) / columns;
  const int row_lanes = kUpconvThreads / columns, channel = (static_cast<int>(blockIdx.x) * columns + lane) * V;
  const int begin = static_cast<int>(blockIdx.y) * block_pixels, end = min(begin + block_pixels, pixels);
  T sum[V] = {};
  if (channel < channels) {
    for (int pixel = begin + row_lane; pixel < end; pixel += kUpconvRounds * row_lanes) {
      Channels<S, V> values[kUpconvRounds];
#pragma unroll
      for (int u = 0; u < kUpconvRounds; ++u) {
        const int from = pixel + u * row_lanes;
        values[u] = load_channels<S, V>(x + static_cast<int64_t>(from < end ? from : pixel) * pitch + channel);
      }
#pragma unroll
      for (int u = 0; u < kUpconvRounds; ++u) {
        const int from = pixel + u * row_lanes;
        if (from >= end) break;
        *reinterpret_cast<Channels<S, V>*>(rows + place_in_rows(from, width) * channels + channel) = values[u];
#pragma unroll
        for (int k = 0; k < V; ++k) sum[k] += static_cast<T>(values[u].value[k]);
      }
    }
  }
  T* const shared = shared_memory<T>() + threadIdx.x;
  for (int k = 0; k < V; ++k) shared[k * kUpconvThreads] = sum[k];
  __syncthreads();
  for (int half = row_lanes / 2; half > 0; half /= 2) {
    if (row_lane < half) {
      for (int k = 0; k < V; ++k) shared[k * kUpconvThreads] += shared[k * kUpconvThreads + half * columns];
    }
    __syncthreads();
  }
  if (row_lane > 0 || channel >= channels) return;
  for (int k = 0; k < V; ++k) parts[static_cast<int64_t>(blockIdx.y) * channels + channel + k] = shared[k * kUpconvThreads];
}

int pixels_of(const at::Tensor& x) {
  const int64_t pixels = x.size(0) * x.size(2) * x.size(3);
  TORCH_CHECK(pixels <= std::numeric_limits<int>::max() / 2, pixels, " pixels are too many for one launch");
  return static_cast<int>(pixels);
}

void scatter_2x2_cuda(at::Tensor out, const at::Tensor& given, const at::Tensor& given_bias,
                      const std::optional<at::Tensor>& given_skip) {
  const DeviceGuard guard(out.device());
  TORCH_CHECK(lies_in_rows(out), "expected channels_last memory for the result");
  const at::Tensor rows = given.contiguous(), bias = given_bias.contiguous(), place = out.narrow(1, 0, bias.size(0));
  const at::Tensor skip = given_skip ? in_pitched_rows(*given_skip) : at::Tensor();
  if (rows.numel() == 0) return;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, rows.scalar_type(), "scatter_2x2", [&] {
    const bool wide = fits_vectors(place) && (!given_skip || fits_vectors(skip)) &&
                      reinterpret_cast<uintptr_t>(rows.const_data_ptr()) % 16 == 0;
    const int size = wide ? kVector : 1;
    ScatterArguments<scalar_t> p{};
    p.rows = rows.const_data_ptr<scalar_t>();
    p.bias = bias.const_data_ptr<Compute<scalar_t>>();
    p.skip = given_skip ? skip.const_data_ptr<scalar_t>() : nullptr;
    p.out = out.mutable_data_ptr<scalar_t>();
    p.skip_pitch = given_skip ? pitch_of(skip) : 0;
    p.pitch = pitch_of(out);
    p.pixels = pixels_of(out);
    p.width = static_cast<int>(out.size(3) / 2);
    p.row_vectors = static_cast<int>(bias.size(0)) / size;
    p.vectors = p.row_vectors + (given_skip ? static_cast<int>(skip.size(1)) / size : 0);
    const int block_pixels = std::max(1, kUpconvThreads * kUpconvRounds / p.vectors);
    launch(wide ? scatter_2x2_kernel<scalar_t, kVector> : scatter_2x2_kernel<scalar_t, 1>, blocks_for(p.pixels, block_pixels),
           kUpconvThreads, 0, p, block_pixels);
  });
}

std::tuple<at::Tensor, at::Tensor> gather_2x2_cuda(const at::Tensor& given) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_pitched_rows(given);
  const int64_t channels = x.size(1);
  const int pixels = pixels_of(x);
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor rows = at::empty({pixels / 4, 4 * channels}, x.options());
  if (x.numel() == 0) return {rows, at::zeros({channels}, x.options().dtype(type))};
  const at::Tensor sums = at::empty({channels}, x.options().dtype(type));
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "gather_2x2", [&] {
    using T = Compute<scalar_t>;
    const bool wide = fits_vectors(x);
    const int size = wide ? kVector : 1;
    int columns = 1;
    while (columns < 32 && columns * size < channels) columns *= 2;
    constexpr int64_t kBlocks = 1056;  // eight for each of an H200's processors
    const int64_t stretches = divide_up(channels, columns * size), most = std::max<int64_t>(1, kBlocks / stretches);
    const int64_t block_pixels = std::max<int64_t>(divide_up(pixels, most), kUpconvThreads / columns * kUpconvRounds);
    const int64_t blocks = divide_up(pixels, block_pixels);
    const at::Tensor parts = at::empty({blocks, channels}, sums.options());
    launch(wide ? gather_2x2_kernel<scalar_t, kVector> : gather_2x2_kernel<scalar_t, 1>,
           dim3(static_cast<unsigned>(stretches), static_cast<unsigned>(blocks)), kUpconvThreads,
           kUpconvThreads * size * sizeof(T), x.const_data_ptr<scalar_t>(), pitch_of(x), pixels,
           static_cast<int>(x.size(3) / 2), static_cast<int>(block_pixels), columns, static_cast<int>(channels),
           rows.mutable_data_ptr<scalar_t>(), parts.mutable_data_ptr<T>());
    column_sums(parts.const_data_ptr<T>(), sums.mutable_data_ptr<T>(), blocks, channels);
  });
  return {rows, sums};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("scatter_2x2", scatter_2x2_cuda);
  m.impl("gather_2x2", gather_2x2_cuda);
}

}  // namespace tessera
