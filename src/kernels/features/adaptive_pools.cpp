#include "kernels/features/adaptive_pools.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/features/pool_plan.h"
#include "kernels/features/pools_cpu.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using PoolsOp = std::vector<at::Tensor>(const at::Tensor&, at::IntArrayRef);
using BackwardOp = at::Tensor(at::TensorList, at::IntArrayRef);

std::vector<at::Tensor> call_pools(const at::Tensor& x, at::IntArrayRef bins) {
  static const auto op = find_op<PoolsOp>("tessera::adaptive_pools");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(x, bins);
}

struct PoolsFunction : torch::autograd::Function<PoolsFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x, at::IntArrayRef bins) {
    ctx->saved_data["size"] = x.sizes().slice(2).vec();
    return call_pools(x, bins);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    static const auto op = find_op<BackwardOp>("tessera::adaptive_pools_backward");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return {op.call(grad_outputs, ctx->saved_data["size"].toIntVector()), {}};
  }
};

}  // namespace

std::vector<at::Tensor> adaptive_pools(const at::Tensor& x, at::IntArrayRef bins) {
  TSR_CHECK(x.dim() == 4 && x.size(2) > 0 && x.size(3) > 0 && at::isFloatingType(x.scalar_type()),
            "expected features (N, C, H, W) of at least one pixel, got {} of {}", toString(x.scalar_type()),
            fmt::join(x.sizes(), " x "));
  if (!has_pool_plan(bins)) {  // too many for its tables, or no grids at all, which torch explains
    std::vector<at::Tensor> each;
    for (const int64_t b : bins) each.push_back(at::adaptive_avg_pool2d(x, {b, b}));
    return each;
  }
  return at::GradMode::is_enabled() && x.requires_grad() ? PoolsFunction::apply(x, bins) : call_pools(x, bins);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("adaptive_pools(Tensor x, int[] bins) -> Tensor[]");
  m.def("adaptive_pools_backward(Tensor[] grad_outputs, int[] size) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("adaptive_pools", adaptive_pools_cpu);
  m.impl("adaptive_pools_backward", adaptive_pools_backward_cpu);
}

}  // namespace tessera
