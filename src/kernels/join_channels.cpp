#include "kernels/join_channels.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using JoinOp = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&);
using SplitOp = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, bool);

template <class Signature>
auto find_op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

at::ScalarType sum_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// On a CPU the convolution adds its bias for nothing, so these are for tests.
at::Tensor join_channels_cpu(const at::Tensor& a, const at::Tensor& bias, const at::Tensor& b) {
  return at::cat({(a + bias.view({1, -1, 1, 1})).to(a.scalar_type()), b}, 1).contiguous(at::MemoryFormat::ChannelsLast);
}
std::tuple<at::Tensor, at::Tensor> split_channels_cpu(const at::Tensor& x, bool copy) {
  return {copy ? x.contiguous(at::MemoryFormat::ChannelsLast) : x, x.sum({0, 2, 3}, false, sum_type(x))};
}

std::tuple<at::Tensor, at::Tensor> split_channels(const at::Tensor& x, bool copy) {
  static const auto op = find_op<SplitOp>("tessera::split_channels");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(x, copy);
}

struct JoinFunction : torch::autograd::Function<JoinFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& a, const at::Tensor& bias, const at::Tensor& b) {
    static const auto op = find_op<JoinOp>("tessera::join_channels");
    ctx->saved_data["channels"] = a.size(1);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return op.call(a, bias, b);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const int64_t channels = ctx->saved_data["channels"].toInt();
    const auto [a, bias] = split_channels(gradients[0].narrow(1, 0, channels), /*copy=*/true);
    return {a, bias, gradients[0].narrow(1, channels, gradients[0].size(1) - channels)};
  }
};

}  // namespace

at::Tensor join_channels(const at::Tensor& a, const at::Tensor& bias, const at::Tensor& b) {
  TSR_CHECK(a.dim() == 4 && b.dim() == 4 && a.size(0) == b.size(0) && a.sizes().slice(2) == b.sizes().slice(2) &&
                a.scalar_type() == b.scalar_type(),
            "expected features of one size and type side by side, got {} of {} and {} of {}", fmt::join(a.sizes(), " x "),
            toString(a.scalar_type()), fmt::join(b.sizes(), " x "), toString(b.scalar_type()));
  TSR_CHECK(bias.dim() == 1 && bias.size(0) == a.size(1) && bias.scalar_type() == sum_type(a),
            "expected a bias of {} numbers of {}", a.size(1), toString(sum_type(a)));
  return JoinFunction::apply(a, bias, b);
}

at::Tensor channel_sums(const at::Tensor& x) {
  return std::get<1>(split_channels(x, /*copy=*/false));
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("join_channels(Tensor a, Tensor bias, Tensor b) -> Tensor");
  // copy: a dense copy of x comes first, else x itself.
  m.def("split_channels(Tensor x, bool copy) -> (Tensor, Tensor sums)");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("join_channels", join_channels_cpu);
  m.impl("split_channels", split_channels_cpu);
}

}  // namespace tessera
