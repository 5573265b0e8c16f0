#include "nn/blocks/pointwise_fork.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include "kernels/common/fused.h"
#include "tensor/pixel_matrix.h"
#include "tensor/product_type.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct PointwiseFork : torch::autograd::Function<PointwiseFork> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor matrix = weight.reshape({weight.size(0), weight.size(1)});
    ctx->save_for_backward({pixel_rows(x), matrix});
    ctx->saved_data["size"] = x.sizes();
    ctx->set_materialize_grads(false);
    return {image_of_rows(pixel_rows(x).mm(matrix.t()), x.sizes()), x};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    if (!grad_outputs[0].defined()) return {grad_outputs[1], {}};
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const std::vector<int64_t> size = ctx->saved_data["size"].toIntVector();
    const at::Tensor grad_rows = pixel_rows(grad_outputs[0]);
    at::Tensor grad_x, grad_weight;
    if (ctx->needs_input_grad(1)) grad_weight = grad_rows.t().mm(x).view({weight.size(0), weight.size(1), 1, 1});
    if (ctx->needs_input_grad(0)) {
      at::Tensor sum = grad_outputs[1].defined() ? pixel_rows(grad_outputs[1]) : at::Tensor();
      // Nobody reads the other gradient again, so the sum takes its place; unless others hold it too.
      const bool own = sum.defined() && sum.is_alias_of(grad_outputs[1]) && grad_outputs[1].use_count() <= 2;
      if (own) {
        grad_x = sum.addmm_(grad_rows, weight);
      } else {
        grad_x = sum.defined() ? at::addmm(sum, grad_rows, weight) : grad_rows.mm(weight);
      }
      grad_x = image_of_rows(grad_x, size);
    }
    return {grad_x, grad_weight};
  }
};

}  // namespace

std::pair<at::Tensor, at::Tensor> pointwise_and_keep(const at::Tensor& x, const at::Tensor& weight) {
  const at::ScalarType type = product_type(x);
  const auto both = PointwiseFork::apply(x.to(type), weight.to(type));
  return {both[0], both[1]};
}

bool use_pointwise_fork(const torch::nn::Conv2d& conv, const at::Tensor& x) {
  const auto& options = conv->options;
  const auto all = [](const torch::ExpandingArray<2>& values, int64_t value) {
    return values->at(0) == value && values->at(1) == value;
  };
  return x.is_cuda() && use_fused(x) && at::GradMode::is_enabled() && x.requires_grad() && all(options.kernel_size(), 1) &&
         all(options.stride(), 1) && options.groups() == 1 && !conv->bias.defined() &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace tessera
