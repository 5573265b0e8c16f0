#include "kernels/features/resize_bilinear.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/common/fused.h"
#include "kernels/features/resize_cpu.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using ResizeOp = at::Tensor(const at::Tensor&, at::IntArrayRef, bool);
using ConcatOp = at::Tensor(at::TensorList, at::IntArrayRef, bool);

at::Tensor call_resize(const at::Tensor& x, at::IntArrayRef size, bool align_corners) {
  static const auto op = find_op<ResizeOp>("tessera::resize_bilinear");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(x, size, align_corners);
}
at::Tensor call_backward(const at::Tensor& grad_out, at::IntArrayRef size, bool align_corners) {
  static const auto op = find_op<ResizeOp>("tessera::resize_bilinear_backward");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(grad_out, size, align_corners);
}
at::Tensor call_concat(at::TensorList xs, at::IntArrayRef size, bool align_corners) {
  static const auto op = find_op<ConcatOp>("tessera::resize_concat");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(xs, size, align_corners);
}

struct ResizeFunction : torch::autograd::Function<ResizeFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::IntArrayRef size, bool align_corners) {
    ctx->saved_data["size"] = x.sizes().slice(2).vec();
    ctx->saved_data["align_corners"] = align_corners;
    return call_resize(x, size, align_corners);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    return {call_backward(grad_outputs[0], ctx->saved_data["size"].toIntVector(), ctx->saved_data["align_corners"].toBool()),
            {},
            {}};
  }
};

struct ConcatFunction : torch::autograd::Function<ConcatFunction> {
  static at::Tensor forward(AutogradContext* ctx, at::TensorList xs, at::IntArrayRef size, bool align_corners) {
    std::vector<int64_t> shapes;  // channels, height and width of each
    for (const at::Tensor& x : xs) shapes.insert(shapes.end(), x.sizes().begin() + 1, x.sizes().end());
    ctx->saved_data["shapes"] = shapes;
    ctx->saved_data["align_corners"] = align_corners;
    return call_concat(xs, size, align_corners);
  }
  // Slices of the gradient, without a copy where nothing was resized.
  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    const std::vector<int64_t> shapes = ctx->saved_data["shapes"].toIntVector();
    variable_list found;
    for (size_t i = 0, channel = 0; i < shapes.size(); channel += static_cast<size_t>(shapes[i]), i += 3) {
      found.emplace_back();
      if (!ctx->needs_input_grad(i / 3)) continue;
      const at::IntArrayRef size(&shapes[i + 1], 2);
      const at::Tensor slice = grad_outputs[0].narrow(1, static_cast<int64_t>(channel), shapes[i]);
      found.back() =
          slice.sizes().slice(2) == size ? slice : call_backward(slice, size, ctx->saved_data["align_corners"].toBool());
    }
    found.resize(found.size() + 2);
    return found;
  }
};

void check(const at::Tensor& x, at::IntArrayRef size) {
  TSR_CHECK(x.dim() == 4 && x.size(1) > 0 && x.size(2) > 0 && x.size(3) > 0 && at::isFloatingType(x.scalar_type()),
            "expected features (N, C, h, w) of at least one channel and pixel, got {} of {}", toString(x.scalar_type()),
            fmt::join(x.sizes(), " x "));
  TSR_CHECK(size.size() == 2 && size[0] > 0 && size[1] > 0, "expected a height and a width to resize to, got {}",
            fmt::join(size, " x "));
}

bool wants_gradient(at::TensorList xs) {
  return at::GradMode::is_enabled() && std::any_of(xs.begin(), xs.end(), [](const at::Tensor& x) { return x.requires_grad(); });
}

}  // namespace

at::Tensor resize_bilinear(const at::Tensor& x, at::IntArrayRef size, bool align_corners) {
  check(x, size);
  return wants_gradient(x) ? ResizeFunction::apply(x, size, align_corners) : call_resize(x, size, align_corners);
}

at::Tensor resize(const at::Tensor& x, at::IntArrayRef size, bool align_corners) {
  if (x.sizes().slice(2) == size) return x;
  return use_fused(x) ? resize_bilinear(x, size, align_corners) : at::upsample_bilinear2d(x, size, align_corners);
}

at::Tensor resize_concat(at::TensorList xs, at::IntArrayRef size, bool align_corners) {
  TSR_CHECK(!xs.empty(), "nothing to concatenate");
  auto type = xs[0].scalar_type();
  for (const at::Tensor& x : xs) {
    check(x, size);
    TSR_CHECK(x.size(0) == xs[0].size(0), "expected tensors of {} images, got one of {}", xs[0].size(0), x.size(0));
    type = c10::promoteTypes(type, x.scalar_type());
  }
  std::vector<at::Tensor> same;
  for (const at::Tensor& x : xs) same.push_back(x.to(type));
  return wants_gradient(same) ? ConcatFunction::apply(at::TensorList(same), size, align_corners)
                              : call_concat(same, size, align_corners);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("resize_bilinear(Tensor x, int[] size, bool align_corners) -> Tensor");
  m.def("resize_bilinear_backward(Tensor grad_out, int[] size, bool align_corners) -> Tensor");
  m.def("resize_concat(Tensor[] xs, int[] size, bool align_corners) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("resize_bilinear", resize_bilinear_cpu);
  m.impl("resize_bilinear_backward", resize_bilinear_backward_cpu);
  m.impl("resize_concat", resize_concat_cpu);
}

}  // namespace tessera
