#include "kernels/features/max_pool.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/features/max_pool_cpu.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using ForwardOp = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, at::IntArrayRef, at::IntArrayRef, bool);
using OptionalTensor = std::optional<at::Tensor>;
using BackwardOp = at::Tensor(const at::Tensor&, const at::Tensor&, at::IntArrayRef, at::IntArrayRef, const OptionalTensor&);

// `window`: kernel, stride, padding.
std::tuple<at::Tensor, at::Tensor> call_forward(const at::Tensor& x, const std::vector<int64_t>& window, at::IntArrayRef size,
                                                bool with_positions) {
  static const auto op = find_op<ForwardOp>("tessera::max_pool");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(x, window, size, with_positions);
}

// Returns the maxima and, if asked to, x.
struct MaxPoolFunction : torch::autograd::Function<MaxPoolFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, const std::vector<int64_t>& window,
                               const std::vector<int64_t>& size, bool keep) {
    const auto [result, positions] = call_forward(x, window, size, /*with_positions=*/true);
    ctx->save_for_backward({positions});
    ctx->saved_data["window"] = window;
    ctx->saved_data["size"] = x.sizes().slice(2).vec();
    ctx->set_materialize_grads(false);
    return keep ? variable_list{result, x} : variable_list{result};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    static const auto op = find_op<BackwardOp>("tessera::max_pool_backward");
    const at::Tensor kept = grad_outputs.size() > 1 ? grad_outputs[1] : at::Tensor();
    if (!grad_outputs[0].defined()) return {kept, {}, {}, {}};
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return {op.call(grad_outputs[0].contiguous(at::MemoryFormat::ChannelsLast), ctx->get_saved_variables()[0],
                    ctx->saved_data["window"].toIntVector(), ctx->saved_data["size"].toIntVector(),
                    kept.defined() ? OptionalTensor(kept) : std::nullopt),
            {},
            {},
            {}};
  }
};

// Ours are for channels that lie side by side; a position in a window fits a byte.
bool can_fuse_pool(const at::Tensor& x, const PoolWindow& window) {
  constexpr int64_t kFewestChannels = 4, kLargestKernel = 15;
  const auto type = x.scalar_type();
  return x.stride(1) == 1 && x.size(1) >= kFewestChannels && window.kernel <= kLargestKernel &&
         (type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || (type == at::kHalf && !x.is_cpu()));
}

}  // namespace

PoolWindows pool_windows(int64_t size, const PoolWindow& w) {
  const int64_t room = size + 2 * w.padding - w.kernel + (w.ceil_mode ? w.stride - 1 : 0);
  TSR_CHECK(size > 0 && w.kernel > 0 && w.stride > 0 && w.padding >= 0 && 2 * w.padding <= w.kernel && room >= 0,
            "a window of {} pixels, stride {} and padding {} does not fit into {} pixels", w.kernel, w.stride, w.padding, size);
  int64_t out = room / w.stride + 1;
  if (w.ceil_mode && (out - 1) * w.stride >= size + w.padding) --out;  // it would start in the padding
  return {w.kernel, w.stride, w.padding, size, out};
}

at::Tensor max_pool(const at::Tensor& x, const PoolWindow& window) {
  TSR_CHECK(x.dim() == 4 && at::isFloatingType(x.scalar_type()), "expected features (N, C, H, W), got {} of {}",
            toString(x.scalar_type()), fmt::join(x.sizes(), " x "));
  if (!can_fuse_pool(x, window)) {
    return at::max_pool2d(x, window.kernel, window.stride, window.padding, /*dilation=*/1, window.ceil_mode);
  }
  const std::vector<int64_t> size = {pool_windows(x.size(2), window).out, pool_windows(x.size(3), window).out};
  const std::vector<int64_t> numbers = {window.kernel, window.stride, window.padding};
  if (at::GradMode::is_enabled() && x.requires_grad()) return MaxPoolFunction::apply(x, numbers, size, /*keep=*/false)[0];
  return std::get<0>(call_forward(x, numbers, size, /*with_positions=*/false));
}

std::pair<at::Tensor, at::Tensor> max_pool_and_keep(const at::Tensor& x, const PoolWindow& window) {
  if (!at::GradMode::is_enabled() || !x.requires_grad() || !can_fuse_pool(x, window)) return {max_pool(x, window), x};
  const std::vector<int64_t> size = {pool_windows(x.size(2), window).out, pool_windows(x.size(3), window).out};
  const auto both =
      MaxPoolFunction::apply(x, std::vector<int64_t>{window.kernel, window.stride, window.padding}, size, /*keep=*/true);
  return {both[0], both[1]};
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("max_pool(Tensor x, int[] window, int[] size, bool with_positions) -> (Tensor result, Tensor positions)");
  m.def("max_pool_backward(Tensor grad_out, Tensor positions, int[] window, int[] size, Tensor? added) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("max_pool", max_pool_cpu);
  m.impl("max_pool_backward", max_pool_backward_cpu);
}

}  // namespace tessera
