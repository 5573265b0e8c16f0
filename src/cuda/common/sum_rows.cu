#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/host_device.h"
#include "cuda/common/pack.h"
#include "cuda/common/row_visit.h"

namespace tessera {
namespace {

template <class T>
struct RowsArgs {
  const T* x;
  Compute<T>* parts;  // (blocks of rows, width)
  int64_t rows;
  int width;
};

// Traffic: x read once.
template <int kSize, class T>
__global__ void __launch_bounds__(32 * kVisitWarps) sum_rows_kernel(RowsArgs<T> a) {
  using C = Compute<T>;
  const int column = visit_column<kSize>();
  C sum[kSize] = {};
  if (column < a.width) {
    visit_rows<8>(
        a.rows, [&](int64_t row) { return load_pack<kSize>(a.x + row * a.width + column); },
        [&](int64_t, const Pack<T, kSize>& x) {
          for (int k = 0; k < kSize; ++k) sum[k] += static_cast<C>(x.value[k]);
        });
  }
  leave_sums(sum, a.parts, a.width);
}

at::Tensor sum_rows_cuda(const at::Tensor& x) {
  const DeviceGuard guard(x.device());
  const int64_t width = x.size(-1);
  const auto options = x.options().dtype(x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  if (x.numel() == 0) return at::zeros({width}, options);
  const int64_t rows = x.numel() / width, blocks = visit_blocks(rows);
  const at::Tensor sums = at::empty({width}, options), parts = at::empty({blocks, width}, options);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "sum_rows", [&] {
    using C = Compute<scalar_t>;
    const RowsArgs<scalar_t> a{x.const_data_ptr<scalar_t>(), parts.mutable_data_ptr<C>(), rows, static_cast<int>(width)};
    constexpr int kSize = 16 / sizeof(scalar_t);
    const bool packs = width % kSize == 0 && is_aligned(a.x);
    launch(packs ? sum_rows_kernel<kSize, scalar_t> : sum_rows_kernel<1, scalar_t>, visit_grid(rows, width, packs ? kSize : 1),
           32 * kVisitWarps, 0, a);
    column_sums(parts.const_data_ptr<C>(), sums.mutable_data_ptr<C>(), blocks, width);
  });
  return sums;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("sum_rows", sum_rows_cuda);
}

}  // namespace tessera
