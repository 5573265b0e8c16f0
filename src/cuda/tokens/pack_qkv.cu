#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>

#include "core/host_device.h"
#include "cuda/common/pack.h"
#include "cuda/common/row_visit.h"

namespace tessera {
namespace {

// (N, heads, T, d), neighbours in d.
template <class T>
struct HeadsPart {
  const T* data;
  int64_t sample, head, token;  // strides
};

template <class T>
struct PackQkvArgs {
  HeadsPart<T> parts[3];  // q, k, v
  T* out;                 // (rows, 3 * heads * d)
  Compute<T>* sums;       // (blocks of rows, 3 * heads * d)
  unsigned rows, tokens;  // rows = N * tokens
  int heads, d;
};

// Traffic: all values read once and written once; the sums cost nothing on top.
template <int kSize, class T>
__global__ void __launch_bounds__(32 * kVisitWarps) pack_qkv_kernel(PackQkvArgs<T> a) {
  using C = Compute<T>;
  const int column = visit_column<kSize>(), width = a.heads * a.d, columns = 3 * width;
  C sum[kSize] = {};
  if (column < columns) {
    const int which = column / width, head = column % width / a.d;
    const HeadsPart<T> part = which == 0 ? a.parts[0] : which == 1 ? a.parts[1] : a.parts[2];
    const T* const from = part.data + head * part.head + column % a.d;
    visit_rows<4>(
        a.rows,
        [&](int64_t row) {
          const unsigned sample = static_cast<unsigned>(row) / a.tokens, token = static_cast<unsigned>(row) % a.tokens;
          return load_pack<kSize>(from + sample * part.sample + token * part.token);
        },
        [&](int64_t row, const Pack<T, kSize>& values) {
          for (int k = 0; k < kSize; ++k) sum[k] += static_cast<C>(values.value[k]);
          store_pack(a.out + row * columns + column, values);
        });
  }
  leave_sums(sum, a.sums, columns);
}

template <class T>
bool packs_fit(const HeadsPart<T>& part, int size) {
  const std::array<int64_t, 3> strides{part.sample, part.head, part.token};
  return is_aligned(part.data) && std::all_of(strides.begin(), strides.end(), [&](int64_t s) { return s % size == 0; });
}

at::Tensor pack_qkv_grad_cuda(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out) {
  const DeviceGuard guard(q.device());
  const int64_t samples = q.size(0), heads = q.size(1), tokens = q.size(2), d = q.size(3), rows = samples * tokens;
  const auto options = q.options().dtype(q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  if (out.numel() == 0) return at::zeros({3 * heads * d}, options);
  TORCH_CHECK(rows < int64_t{1} << 31, "pack_qkv_grad takes up to 2^31 tokens");
  const int64_t blocks = visit_blocks(rows);
  const at::Tensor sums = at::empty({3 * heads * d}, options), parts = at::empty({blocks, 3 * heads * d}, options);
  const auto neighbours = [](const at::Tensor& x) { return x.stride(3) == 1 ? x : x.contiguous(); };
  const std::array<at::Tensor, 3> given{neighbours(q), neighbours(k), neighbours(v)};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, q.scalar_type(), "pack_qkv_grad", [&] {
    using C = Compute<scalar_t>;
    constexpr int kSize = 16 / sizeof(scalar_t);
    PackQkvArgs<scalar_t> a{};
    bool packs = d % kSize == 0 && is_aligned(out.const_data_ptr<scalar_t>());
    for (size_t i = 0; i < given.size(); ++i) {
      const at::Tensor& x = given[i];
      a.parts[i] = {x.const_data_ptr<scalar_t>(), x.stride(0), x.stride(1), x.stride(2)};
      packs = packs && packs_fit(a.parts[i], kSize);
    }
    a.out = out.mutable_data_ptr<scalar_t>();
    a.sums = parts.mutable_data_ptr<C>();
    a.rows = static_cast<unsigned>(rows);
    a.tokens = static_cast<unsigned>(tokens);
    a.heads = static_cast<int>(heads);
    a.d = static_cast<int>(d);
    launch(packs ? pack_qkv_kernel<kSize, scalar_t> : pack_qkv_kernel<1, scalar_t>,
           visit_grid(rows, 3 * heads * d, packs ? kSize : 1), 32 * kVisitWarps, 0, a);
    column_sums(parts.const_data_ptr<C>(), sums.mutable_data_ptr<C>(), blocks, 3 * heads * d);
  });
  return sums;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("pack_qkv_grad", pack_qkv_grad_cuda);
}

}  // namespace tessera
