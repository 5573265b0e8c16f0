#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>

#include <limits>

#include "cuda/common/channel_vector.h"

// The patches under a convolution's kernel as rows of a matrix, see kernels/features/patch_conv.h. Traffic: the matrix is
// written once; the images, a tenth of it, come out of the L2 cache for all rows of the kernel but one.

namespace tessera {
namespace {

constexpr int kPatchThreads = 256;
constexpr int kPatchPixels = 256;  // of a line of the result, a block's part

struct PatchShape {
  int channels, height, width, kernel, padding;
  int out_height, out_width, segments;                               // segments: of a line
  int vectors;                                                       // of a patch
  __host__ __device__ int run() const { return kernel * channels; }  // numbers that lie side by side
  __host__ __device__ int line() const { return (kPatchPixels + kernel - 1) * channels; }
};

// A block brings the lines under its pixels to shared memory, with 0 around the image. In a line a patch is a run of numbers.
template <class S>
__global__ void __launch_bounds__(kPatchThreads) patch_rows_kernel(PatchShape p, const S* x, Strides strides, S* rows) {
  const int line = static_cast<int>(blockIdx.x) / p.segments, n = line / p.out_height, y = line % p.out_height;
  const int first = static_cast<int>(blockIdx.x) % p.segments * kPatchPixels;
  S* const lines = shared_memory<S>();
  const int all = p.kernel * p.line();
  for (int i = static_cast<int>(threadIdx.x); i < all; i += kPatchThreads) {
    const int row = i / p.line(), place = i % p.line(), channel = place % p.channels;
    const int above = y + row - p.padding, beside = first + place / p.channels - p.padding;
    const bool inside = above >= 0 && above < p.height && beside >= 0 && beside < p.width;
    lines[i] = inside ? x[n * strides.image + channel * strides.channel + above * strides.row + beside * strides.column] : S(0);
  }
  if (threadIdx.x == 0) lines[all] = S(0);  // what fills up a patch
  __syncthreads();
  // A thread always has the same vector of a patch, so it finds out once where its numbers are.
  const int at_once = kPatchThreads / p.vectors, vector = static_cast<int>(threadIdx.x) % p.vectors;
  const int start = static_cast<int>(threadIdx.x) / p.vectors;
  if (start >= at_once) return;
  int from[kVector], step[kVector];
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const int number = vector * kVector + k, row = number / p.run();
    from[k] = row < p.kernel ? row * p.line() + number % p.run() : all;
    step[k] = row < p.kernel ? p.channels : 0;
  }
  const int count = min(kPatchPixels, p.out_width - first);
  S* const to = rows + ((static_cast<int64_t>(line) * p.out_width + first) * p.vectors + vector) * kVector;
  for (int pixel = start; pixel < count; pixel += at_once) {
    Channels<S, kVector> patch;
#pragma unroll
    for (int k = 0; k < kVector; ++k) patch.value[k] = lines[from[k] + pixel * step[k]];
    *reinterpret_cast<Channels<S, kVector>*>(to + static_cast<int64_t>(pixel) * p.vectors * kVector) = patch;
  }
}

at::Tensor patch_rows_cuda(const at::Tensor& x, int64_t kernel, int64_t padding) {
  const DeviceGuard guard(x.device());
  const int64_t out_height = x.size(2) + 2 * padding - kernel + 1, out_width = x.size(3) + 2 * padding - kernel + 1;
  const int64_t vectors = divide_up(x.size(1) * kernel * kernel, kVector), segments = divide_up(out_width, kPatchPixels);
  const int64_t blocks = x.size(0) * out_height * segments;
  TORCH_CHECK(vectors <= kPatchThreads && blocks <= std::numeric_limits<int>::max(), "patches of ", kernel, " x ", kernel,
              " pixels of ", x.sizes(), " are too many for one launch");
  const at::Tensor rows = at::empty({x.size(0) * out_height * out_width, vectors * kVector}, x.options());
  if (rows.numel() == 0) return rows;
  const PatchShape p{static_cast<int>(x.size(1)), static_cast<int>(x.size(2)), static_cast<int>(x.size(3)),
                     static_cast<int>(kernel),    static_cast<int>(padding),   static_cast<int>(out_height),
                     static_cast<int>(out_width), static_cast<int>(segments),  static_cast<int>(vectors)};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "patch_rows", [&] {
    launch(patch_rows_kernel<scalar_t>, static_cast<unsigned>(blocks), kPatchThreads,
           static_cast<size_t>(p.kernel * p.line() + 1) * sizeof(scalar_t), p, x.const_data_ptr<scalar_t>(), strides_of(x),
           rows.mutable_data_ptr<scalar_t>());
  });
  return rows;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("patch_rows", patch_rows_cuda);
}

}  // namespace tessera
