#include "nn/blocks/classifier.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include "kernels/common/fused.h"
#include "kernels/tokens/bias_gradient.h"
#include "tensor/pixel_matrix.h"
#include "tensor/product_type.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Returns the rows of a gradient with zeros behind its channels up to `pitch`. A gradient that has longer rows already is taken
// as it is: what lies behind its channels is zero.
at::Tensor padded_rows(const at::Tensor& slope, int64_t pitch) {
  const int64_t height = slope.size(2), width = slope.size(3), rows = slope.size(0) * height * width;
  const bool pitched = slope.strides() == at::IntArrayRef({height * width * pitch, 1, width * pitch, pitch}) &&
                       slope.storage_offset() == 0 &&
                       slope.storage().nbytes() >= static_cast<size_t>(rows * pitch) * slope.element_size();
  if (pitched) return slope.as_strided({rows, pitch}, {pitch, 1});
  return at::constant_pad_nd(pixel_rows(slope), {0, pitch - slope.size(1)});
}

struct PaddedProduct : torch::autograd::Function<PaddedProduct> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    constexpr int64_t kMultiple = 8;
    const at::ScalarType type = product_type(x);
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const int64_t classes = weight.size(0), pitch = (classes + kMultiple - 1) / kMultiple * kMultiple;
    const at::Tensor rows = pixel_rows(x.to(type));
    const at::Tensor padded = at::constant_pad_nd(weight.reshape({classes, -1}).to(type), {0, 0, 0, pitch - classes});
    ctx->save_for_backward({rows, padded});
    ctx->saved_data["size"] = x.sizes();
    ctx->saved_data["classes"] = classes;
    ctx->saved_data["types"] =
        std::vector<int64_t>{static_cast<int64_t>(x.scalar_type()), static_cast<int64_t>(weight.scalar_type()),
                             static_cast<int64_t>(bias.scalar_type())};
    const at::Tensor product = at::addmm(at::constant_pad_nd(bias.to(type), {0, pitch - classes}), rows, padded.t());
    return image_of_rows(product, x.sizes()).narrow(1, 0, classes);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &rows = saved[0], &weight = saved[1], slope = gradients[0].to(rows.scalar_type());
    const std::vector<int64_t> types = ctx->saved_data["types"].toIntVector();
    const auto type = [&](size_t i) { return static_cast<at::ScalarType>(types[i]); };
    const int64_t classes = ctx->saved_data["classes"].toInt();
    const at::Tensor padded = padded_rows(slope, weight.size(0));
    at::Tensor dx, dweight, dbias;
    if (ctx->needs_input_grad(0)) dx = image_of_rows(padded.mm(weight), ctx->saved_data["size"].toIntVector()).to(type(0));
    if (ctx->needs_input_grad(1))
      dweight = padded.t().mm(rows).narrow(0, 0, classes).to(type(1)).view({classes, rows.size(1), 1, 1});
    // The sum goes over the padded rows, which can be read in vectors.
    if (ctx->needs_input_grad(2)) dbias = sum_rows(padded).narrow(0, 0, classes).to(type(2));
    return {dx, dweight, dbias};
  }
};

bool is_pointwise(const torch::nn::Conv2d& conv) {
  const auto& options = conv->options;
  const auto* const padding = std::get_if<torch::ExpandingArray<2>>(&options.padding());
  const auto all = [](const torch::ExpandingArray<2>& values, int64_t value) {
    return (*values)[0] == value && (*values)[1] == value;
  };
  return all(options.kernel_size(), 1) && all(options.stride(), 1) && padding != nullptr && all(*padding, 0) &&
         options.groups() == 1 && conv->bias.defined();
}

}  // namespace

at::Tensor padded_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return PaddedProduct::apply(x, weight, bias);
}

at::Tensor classify_pixels(torch::nn::Conv2d& conv, const at::Tensor& x) {
  return x.is_cuda() && takes_fused_kernels(x) && is_pointwise(conv) ? padded_product(x, conv->weight, conv->bias) : conv(x);
}

}  // namespace tessera
