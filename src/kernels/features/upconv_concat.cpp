#include "kernels/features/upconv_concat.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "tensor/pixel_matrix.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;
using ScatterOp = void(at::Tensor, const at::Tensor&, const at::Tensor&, const OptionalTensor&);
using GatherOp = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&);

at::ScalarType sum_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// On a CPU libtorch's convolution does the same, so these are for tests.
void scatter_2x2_cpu(at::Tensor out, const at::Tensor& rows, const at::Tensor& bias, const OptionalTensor& skip) {
  const int64_t n = out.size(0), channels = bias.size(0), height = out.size(2) / 2, width = out.size(3) / 2;
  const at::Tensor image =
      rows.view({n, height, width, 2, 2, channels}).permute({0, 5, 1, 3, 2, 4}).reshape({n, channels, 2 * height, 2 * width});
  out.narrow(1, 0, channels).copy_(image + bias.view({1, -1, 1, 1}));
  if (skip) out.narrow(1, channels, skip->size(1)).copy_(*skip);
}
std::tuple<at::Tensor, at::Tensor> gather_2x2_cpu(const at::Tensor& x) {
  const int64_t n = x.size(0), channels = x.size(1), height = x.size(2) / 2, width = x.size(3) / 2;
  const at::Tensor rows =
      x.reshape({n, channels, height, 2, width, 2}).permute({0, 2, 4, 3, 5, 1}).reshape({n * height * width, 4 * channels});
  return {rows, x.sum({0, 2, 3}, false, sum_type(x))};
}

// Hides the buffer from autograd: its memory becomes the result's.
struct GivenBuffer {
  at::Tensor memory;
};

struct UpconvConcatFunction : torch::autograd::Function<UpconvConcatFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& skip, const GivenBuffer& given) {
    static const auto op = find_op<ScatterOp>("tessera::scatter_2x2");
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::Tensor rows = pixel_rows(x);
    const at::Tensor matrix = weight.permute({0, 2, 3, 1}).reshape({weight.size(0), 4 * weight.size(1)});
    ctx->save_for_backward({rows, matrix});
    ctx->saved_data["size"] = x.sizes().vec();
    const bool lies_there = given.memory.defined();
    const at::Tensor out = lies_there ? given.memory.alias() : make_concat_buffer(weight.size(1), skip).whole;
    op.call(lies_there ? out.narrow(1, 0, weight.size(1)) : out, rows.mm(matrix), bias,
            lies_there ? std::nullopt : OptionalTensor(skip));
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    static const auto op = find_op<GatherOp>("tessera::gather_2x2");
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &rows = saved[0], &matrix = saved[1], &grad_out = grad_outputs[0];
    const int64_t inputs = matrix.size(0), channels = matrix.size(1) / 4;
    const auto [grad_rows, grad_bias] = op.call(grad_out.narrow(1, 0, channels));
    at::Tensor grad_x, grad_weight;
    if (ctx->needs_input_grad(0)) grad_x = image_of_rows(grad_rows.mm(matrix.t()), ctx->saved_data["size"].toIntVector());
    if (ctx->needs_input_grad(1)) grad_weight = rows.t().mm(grad_rows).view({inputs, 2, 2, channels}).permute({0, 3, 1, 2});
    return {grad_x, grad_weight, grad_bias, grad_out.narrow(1, channels, grad_out.size(1) - channels), {}};
  }
};

}  // namespace

ConcatBuffer make_concat_buffer(int64_t before, const at::Tensor& skip) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;  // no views in autograd's sense: both become results
  const int64_t channels = skip.size(1);
  const at::Tensor whole =
      at::empty({skip.size(0), before + channels, skip.size(2), skip.size(3)}, skip.options(), at::MemoryFormat::ChannelsLast);
  return {whole, whole.narrow(1, before, channels)};
}

at::Tensor upconv2x2_concat(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& skip,
                            const at::Tensor& concat_buffer) {
  TSR_CHECK(x.dim() == 4 && weight.dim() == 4 && weight.size(0) == x.size(1) && weight.size(2) == 2 && weight.size(3) == 2 &&
                weight.scalar_type() == x.scalar_type(),
            "expected features (N, K, H, W) and a weight (K, C, 2, 2) of their type, got {} of {} and {} of {}",
            fmt::join(x.sizes(), " x "), toString(x.scalar_type()), fmt::join(weight.sizes(), " x "),
            toString(weight.scalar_type()));
  TSR_CHECK(skip.dim() == 4 && skip.size(0) == x.size(0) && skip.size(2) == 2 * x.size(2) && skip.size(3) == 2 * x.size(3) &&
                skip.scalar_type() == x.scalar_type(),
            "expected a skip of twice the size of {}, of {}, got {} of {}", fmt::join(x.sizes(), " x "),
            toString(x.scalar_type()), fmt::join(skip.sizes(), " x "), toString(skip.scalar_type()));
  TSR_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(1) && bias.scalar_type() == sum_type(x),
            "expected a bias of {} numbers of {}", weight.size(1), toString(sum_type(x)));
  TSR_CHECK(
      !concat_buffer.defined() ||
          (concat_buffer.size(1) == weight.size(1) + skip.size(1) && concat_buffer.sizes().slice(2) == skip.sizes().slice(2) &&
           concat_buffer.narrow(1, weight.size(1), skip.size(1)).const_data_ptr() == skip.const_data_ptr()),
      "expected a concat buffer with {} free channels before the skip that lies in it", weight.size(1));
  return UpconvConcatFunction::apply(x, weight, bias, skip, GivenBuffer{concat_buffer});
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  // rows: (N H W, 4 C), the pixels of each 2 x 2 window one after another; out: (N, C + S, 2 H, 2 W), or C channels
  // without a skip.
  m.def("scatter_2x2(Tensor(a!) out, Tensor rows, Tensor bias, Tensor? skip) -> ()");
  m.def("gather_2x2(Tensor x) -> (Tensor rows, Tensor sums)");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("scatter_2x2", scatter_2x2_cpu);
  m.impl("gather_2x2", gather_2x2_cpu);
}

}  // namespace tessera
