#include "kernels/features/patch_conv.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using PatchOp = at::Tensor(const at::Tensor&, int64_t, int64_t);

constexpr int64_t kMultiple = 8;  // channels that products like
constexpr int64_t kLongestPatch = 64;

int64_t padded(int64_t length) {
  return (length + kMultiple - 1) / kMultiple * kMultiple;
}

// On a CPU libtorch's convolution is as fast, so this is for tests.
at::Tensor patch_rows_cpu(const at::Tensor& x, int64_t kernel, int64_t padding) {
  const int64_t n = x.size(0), channels = x.size(1), taps = kernel * kernel;
  const at::Tensor columns = at::im2col(x.contiguous(), {kernel, kernel}, {1, 1}, {padding, padding}, {1, 1});
  const at::Tensor rows = columns.view({n, channels, taps, -1}).permute({0, 3, 2, 1}).reshape({-1, taps * channels});
  return at::constant_pad_nd(rows, {0, padded(rows.size(1)) - rows.size(1)}).contiguous();
}

struct PatchConvFunction : torch::autograd::Function<PatchConvFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, int64_t padding) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const int64_t kernel = weight.size(2), outputs = weight.size(0), length = weight.numel() / outputs;
    const at::Tensor rows = patch_rows(x, kernel, padding);
    const at::Tensor matrix =
        at::constant_pad_nd(weight.permute({0, 2, 3, 1}).reshape({outputs, length}), {0, rows.size(1) - length});
    ctx->save_for_backward({rows});
    ctx->saved_data["size"] = weight.sizes().vec();
    const int64_t height = x.size(2) + 2 * padding - kernel + 1;
    return rows.mm(matrix.t()).view({x.size(0), height, -1, outputs}).permute({0, 3, 1, 2});
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const std::vector<int64_t> size = ctx->saved_data["size"].toIntVector();
    const at::Tensor rows = ctx->get_saved_variables()[0];
    const at::Tensor grad_rows = grad_outputs[0].permute({0, 2, 3, 1}).reshape({-1, size[0]});
    const at::Tensor grad_matrix = grad_rows.t().mm(rows).narrow(1, 0, size[1] * size[2] * size[3]).contiguous();
    return {{}, grad_matrix.view({size[0], size[2], size[3], size[1]}).permute({0, 3, 1, 2}), {}};
  }
};

}  // namespace

at::Tensor patch_rows(const at::Tensor& x, int64_t kernel, int64_t padding) {
  static const auto op = find_op<PatchOp>("tessera::patch_rows");
  TSR_CHECK(
      x.dim() == 4 && kernel > 0 && padding >= 0 && x.size(2) + 2 * padding >= kernel && x.size(3) + 2 * padding >= kernel,
      "a kernel of {} pixels with padding {} does not fit into images of {}", kernel, padding, fmt::join(x.sizes(), " x "));
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(x, kernel, padding);
}

bool can_use_patch_conv(const at::Tensor& x, const at::Tensor& weight) {
  return x.dim() == 4 && weight.dim() == 4 && weight.size(2) == weight.size(3) && weight.size(1) == x.size(1) &&
         weight.numel() / weight.size(0) <= kLongestPatch && weight.size(0) % kMultiple == 0 && !x.requires_grad();
}

at::Tensor patch_conv(const at::Tensor& x, const at::Tensor& weight, int64_t padding) {
  TSR_CHECK(
      can_use_patch_conv(x, weight) && x.scalar_type() == weight.scalar_type(),
      "expected images that want no gradient and a weight of their type with patches of up to {} numbers, got {} of {} and "
      "{} of {}",
      kLongestPatch, fmt::join(x.sizes(), " x "), toString(x.scalar_type()), fmt::join(weight.sizes(), " x "),
      toString(weight.scalar_type()));
  return PatchConvFunction::apply(x, weight, padding);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("patch_rows(Tensor x, int kernel, int padding) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("patch_rows", patch_rows_cpu);
}

}  // namespace tessera
