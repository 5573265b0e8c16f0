#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <type_traits>

#include "cuda/common/column_sums.h"
#include "cuda/common/launch.h"
#include "cuda/common/pack.h"
#include "cuda/common/short_type.h"
#include "cuda/tokens/layer_norm_backward.h"
#include "cuda/tokens/layer_norm_forward.h"
#include "kernels/tokens/layer_norm.h"

namespace tessera {
namespace {

// Blocks of the backward pass; fixed, as the order of sums must not depend on the GPU. Each of the 132 multiprocessors of an
// H200 holds three, so that there all end together.
constexpr int64_t kMostNormBlocks = 396;
constexpr size_t kMostSharedBytes = kLayerNormBytes;

// The warps whose rows fit into the shared memory of a block.
int row_warps(size_t bytes_per_row) {
  TORCH_CHECK(bytes_per_row <= kMostSharedBytes, "rows of LayerNorm are too wide for the GPU's kernel");
  return static_cast<int>(std::min<size_t>(kRowWarps, kMostSharedBytes / bytes_per_row));
}

bool packs_fit(int64_t width, int size, std::initializer_list<const void*> pointers) {
  return width % size == 0 && std::all_of(pointers.begin(), pointers.end(), [](const void* p) { return is_aligned(p); });
}

template <class T, class B, class O>
void run_forward(NormForward<T, B, O> a) {
  const size_t row_bytes = static_cast<size_t>(a.width) * sizeof(T);
  constexpr int kSize = 16 / sizeof(T);
  const bool packs =
      packs_fit(a.width, kSize, {a.x, a.branch, a.branch_bias, a.weight, a.bias, a.sum, a.out.first, a.out.rest});
  if constexpr (std::is_same_v<T, float>) {
    if (packs && a.width <= kRegisterWidth)
      return launch(layer_norm_in_registers<B, O>(a.width), blocks_for(a.rows, kRowWarps), 32 * kRowWarps, 0, a);
  }
  const int warps = row_warps(row_bytes);
  launch(packs ? layer_norm_kernel<kSize, T, B, O> : layer_norm_kernel<1, T, B, O>, blocks_for(a.rows, warps),
         32u * static_cast<unsigned>(warps), row_bytes * static_cast<size_t>(warps), a);
}

struct Tokens {
  int64_t rows, count, head;
  int width;
};

// head < 0: the rows lie in one tensor.
Tokens tokens_of(const at::Tensor& x, int64_t head) {
  const int64_t width = x.size(-1), rows = width > 0 ? x.numel() / width : 0;
  TORCH_CHECK(rows < int64_t{1} << 31, "LayerNorm takes up to 2^31 rows");
  return {rows, head < 0 ? rows : x.size(-2), head < 0 ? rows : head, static_cast<int>(width)};
}

template <class T>
TokenRows<T> rows_in(T* first, T* rest, const Tokens& tokens) {
  return {first, rest, static_cast<unsigned>(tokens.count), static_cast<unsigned>(tokens.head), tokens.width};
}

using Optional = std::optional<at::Tensor>;

template <class T>
const T* pointer(const Optional& x) {
  return x && x->numel() > 0 ? x->const_data_ptr<T>() : nullptr;
}

using Five = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

Five add_layer_norm_cuda(const at::Tensor& x, const Optional& branch, const Optional& branch_bias, const at::Tensor& weight,
                         const at::Tensor& bias, double eps, at::ScalarType type, int64_t head) {
  const DeviceGuard guard(x.device());
  const Tokens tokens = tokens_of(x, head);
  std::vector<int64_t> first_sizes = x.sizes().vec(), rest_sizes = first_sizes;
  if (head >= 0) first_sizes[first_sizes.size() - 2] = head;
  rest_sizes.rbegin()[1 % rest_sizes.size()] = head < 0 ? 0 : tokens.count - head;
  const at::Tensor sum = branch ? at::empty_like(x) : x, mean = at::empty({tokens.rows}, x.options()),
                   rstd = at::empty({tokens.rows}, x.options()), out = at::empty(first_sizes, x.options().dtype(type)),
                   rest = at::empty(rest_sizes, x.options().dtype(type));
  if (tokens.rows == 0) return {sum, out, rest, mean, rstd};
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_layer_norm", [&] {
    using T = scalar_t;
    with_short_type<T>(branch ? branch->scalar_type() : type, [&]<class B>(B) {
      with_short_type<T>(type, [&]<class O>(O) {
        run_forward<T, B, O>({x.const_data_ptr<T>(), pointer<B>(branch), pointer<T>(branch_bias), weight.const_data_ptr<T>(),
                              bias.const_data_ptr<T>(), branch ? sum.mutable_data_ptr<T>() : nullptr,
                              rows_in(out.mutable_data_ptr<O>(), rest.mutable_data_ptr<O>(), tokens),
                              mean.mutable_data_ptr<T>(), rstd.mutable_data_ptr<T>(), tokens.rows, tokens.width,
                              static_cast<T>(eps)});
      });
    });
  });
  return {sum, out, rest, mean, rstd};
}

template <class T, class B, class O>
void run_backward(const NormBackward<T, B, O>& a, unsigned blocks, int warps) {
  constexpr int kSize = 16 / sizeof(T);
  const bool packs =
      packs_fit(a.width, kSize, {a.grad_out.first, a.grad_out.rest, a.grad_sum, a.sum, a.weight, a.grad_x, a.grad_branch});
  launch(packs ? layer_norm_backward_kernel<kSize, T, B, O> : layer_norm_backward_kernel<1, T, B, O>, blocks,
         32u * static_cast<unsigned>(warps), 4 * sizeof(T) * static_cast<size_t>(a.width) * static_cast<size_t>(warps), a);
}

template <class B>
void run_staged(const NormBackward<float, B, B>& a, unsigned blocks, bool branch_sums) {
  const StagedNorm<B> staged = staged_norm<B>(a.width, branch_sums);
  launch(staged.kernel, blocks, 32 * kRowWarps, staged.shared_bytes, a);
}

Five add_layer_norm_backward_cuda(const Optional& grad_out, const Optional& grad_rest, const Optional& grad_sum,
                                  const at::Tensor& sum, const at::Tensor& mean, const at::Tensor& rstd,
                                  const at::Tensor& weight, at::ScalarType branch_type, int64_t head, bool branch_sums) {
  const DeviceGuard guard(sum.device());
  const Tokens tokens = tokens_of(sum, head);
  const int64_t width = tokens.width;
  const at::ScalarType grad_type = (grad_out ? grad_out : grad_rest)->scalar_type();
  const bool own_branch = branch_type != sum.scalar_type();
  const at::Tensor grad_x = at::empty_like(sum);
  const at::Tensor grad_branch = own_branch ? at::empty(sum.sizes(), sum.options().dtype(branch_type)) : grad_x;
  if (tokens.rows == 0) return {grad_x, grad_branch, at::zeros_like(weight), at::zeros_like(weight), at::zeros_like(weight)};
  const auto aligned = [](const Optional& x) { return !x || is_aligned(x->const_data_ptr()); };
  const bool staged = sum.scalar_type() == at::kFloat && (!own_branch || branch_type == grad_type) && width % 4 == 0 &&
                      width <= kRegisterWidth && aligned(grad_out) && aligned(grad_rest) && aligned(grad_sum) && aligned(sum) &&
                      aligned(weight);
  const int64_t sums = staged && branch_sums ? 3 : 2;
  const at::Tensor gradients = at::empty({sums, width}, sum.options());
  AT_DISPATCH_FLOATING_TYPES(sum.scalar_type(), "add_layer_norm_backward", [&] {
    using T = scalar_t;
    const int warps = staged ? kRowWarps : row_warps(4 * sizeof(T) * static_cast<size_t>(width));
    const int64_t blocks = std::min((tokens.rows + warps - 1) / warps, kMostNormBlocks);
    const at::Tensor parts = at::empty({blocks, sums, width}, sum.options());
    with_short_type<T>(grad_type, [&]<class O>(O) {
      const auto arguments = [&]<class B>(B* to_branch) {
        return NormBackward<T, B, O>{rows_in(pointer<O>(grad_out), pointer<O>(grad_rest), tokens),
                                     pointer<T>(grad_sum),
                                     sum.const_data_ptr<T>(),
                                     mean.const_data_ptr<T>(),
                                     rstd.const_data_ptr<T>(),
                                     weight.const_data_ptr<T>(),
                                     grad_x.mutable_data_ptr<T>(),
                                     to_branch,
                                     parts.mutable_data_ptr<T>(),
                                     tokens.rows,
                                     tokens.width};
      };
      if constexpr (std::is_same_v<T, float>) {
        if (staged)
          return run_staged<O>(arguments(own_branch ? grad_branch.mutable_data_ptr<O>() : static_cast<O*>(nullptr)),
                               static_cast<unsigned>(blocks), branch_sums);
      }
      with_short_type<T>(branch_type, [&]<class B>(B) {
        run_backward(arguments(own_branch ? grad_branch.mutable_data_ptr<B>() : static_cast<B*>(nullptr)),
                     static_cast<unsigned>(blocks), warps);
      });
    });
    column_sums(parts.const_data_ptr<T>(), gradients.mutable_data_ptr<T>(), blocks, sums * width);
  });
  at::Tensor grad_branch_bias;
  if (branch_sums) grad_branch_bias = staged ? gradients.select(0, 2) : grad_x.view({-1, width}).sum(0);
  return {grad_x, grad_branch, gradients.select(0, 0), gradients.select(0, 1), grad_branch_bias};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("add_layer_norm", add_layer_norm_cuda);
  m.impl("add_layer_norm_backward", add_layer_norm_backward_cuda);
}

}  // namespace tessera
