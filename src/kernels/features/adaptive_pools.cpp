#include "kernels/features/adaptive_pools.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/features/feature_loops.h"
#include "kernels/features/pool_loops.h"
#include "kernels/features/pool_plan.h"
#include "tensor/parallel_for.h"

namespace tessera {

TSR_CHOOSE_FEATURE_LOOPS(PoolLoops, kPool, with_pool_loops)

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using PoolsOp = std::vector<at::Tensor>(const at::Tensor&, at::IntArrayRef);
using BackwardOp = at::Tensor(at::TensorList, at::IntArrayRef);

// See Note [Cells of a pool].
template <class S>
void pool(const PoolLoops<S>& loops, const at::Tensor& x, const PoolPlan& plan, const std::vector<at::Tensor>& results) {
  using T = Compute<S>;
  const PoolAxis& rows = plan.rows;
  const PoolAxis& columns = plan.columns;
  const int64_t channels = x.size(1);
  const at::Tensor cells = at::empty({x.size(0), rows.cells, columns.cells, channels}, at::CppTypeToScalarType<T>::value);
  T* const sums = cells.template mutable_data_ptr<T>();
  const auto cell = [&](int64_t n, int64_t y, int64_t x_) {
    return sums + ((n * rows.cells + y) * columns.cells + x_) * channels;
  };
  const S* const from = static_cast<const S*>(x.const_data_ptr());
  parallel_for(0, x.size(0) * rows.cells, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / rows.cells, y = i % rows.cells;
      for (int c = 0; c < columns.cells; ++c) {
        loops.sum_pixels(from + n * x.stride(0) + rows.border[y] * x.stride(2) + columns.border[c] * x.stride(3), x.stride(2),
                         x.stride(3), rows.border[y + 1] - rows.border[y], columns.border[c + 1] - columns.border[c], channels,
                         cell(n, y, c));
      }
    }
  });
  std::vector<T> sum(static_cast<size_t>(channels));
  for (int g = 0; g < plan.grids; ++g) {
    S* to = static_cast<S*>(results[static_cast<size_t>(g)].mutable_data_ptr());
    for (int64_t n = 0; n < x.size(0); ++n) {
      for (int i = plan.first[g]; i < plan.first[g] + plan.bins[g]; ++i) {
        for (int j = plan.first[g]; j < plan.first[g] + plan.bins[g]; ++j, to += channels) {
          std::fill(sum.begin(), sum.end(), T(0));
          for (int y = rows.begin[i]; y < rows.end[i]; ++y) {
            for (int c = columns.begin[j]; c < columns.end[j]; ++c) loops.add(cell(n, y, c), T(1), channels, sum.data());
          }
          loops.fill_pixels(sum.data(), T(1) / static_cast<T>(rows.pixels(i) * columns.pixels(j)), 1, channels, to);
        }
      }
    }
  }
}

template <class S>
void spread(const PoolLoops<S>& loops, const std::vector<at::Tensor>& grad_outputs, const PoolPlan& plan,
            const at::Tensor& out) {
  using T = Compute<S>;
  const PoolAxis& rows = plan.rows;
  const PoolAxis& columns = plan.columns;
  const int64_t channels = out.size(1), height = out.size(2), width = out.size(3);
  S* const to = static_cast<S*>(out.mutable_data_ptr());
  parallel_for(0, out.size(0) * rows.cells, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> sum(static_cast<size_t>(channels));
    for (int64_t k = begin; k < end; ++k) {
      const int64_t n = k / rows.cells;
      const int y = static_cast<int>(k % rows.cells);
      S* const top = to + (n * height + rows.border[y]) * width * channels;
      for (int x = 0; x < columns.cells; ++x) {
        std::fill(sum.begin(), sum.end(), T(0));
        for (int g = 0; g < plan.grids; ++g) {
          const S* const grid = static_cast<const S*>(grad_outputs[static_cast<size_t>(g)].const_data_ptr());
          for (int i = 0; i < plan.bins[g]; ++i) {
            for (int j = 0; j < plan.bins[g]; ++j) {
              const int row = plan.first[g] + i, column = plan.first[g] + j;
              if (!rows.holds(row, y) || !columns.holds(column, x)) continue;
              loops.add_stored(grid + ((n * plan.bins[g] + i) * plan.bins[g] + j) * channels,
                               T(1) / static_cast<T>(rows.pixels(row) * columns.pixels(column)), channels, sum.data());
            }
          }
        }
        loops.fill_pixels(sum.data(), T(1), columns.border[x + 1] - columns.border[x], channels,
                          top + columns.border[x] * channels);
      }
      for (int below = rows.border[y] + 1; below < rows.border[y + 1]; ++below) {
        std::copy(top, top + width * channels, top + (below - rows.border[y]) * width * channels);
      }
    }
  });
}

std::vector<at::Tensor> adaptive_pools_cpu(const at::Tensor& x, at::IntArrayRef bins) {
  std::vector<at::Tensor> results;
  const bool loops = can_use_feature_loops(x);  // the rest is libtorch's
  for (const int64_t b : bins) {
    results.push_back(loops ? at::empty({x.size(0), x.size(1), b, b}, x.options(), at::MemoryFormat::ChannelsLast)
                            : at::adaptive_avg_pool2d(x, {b, b}));
  }
  if (!loops) return results;
  with_pool_loops(x, [&](const auto& table) { pool(table, x, pool_plan(x.size(2), x.size(3), bins), results); });
  return results;
}

// size: height and width of the features.
at::Tensor adaptive_pools_backward_cpu(at::TensorList grad_outputs, at::IntArrayRef size) {
  const at::Tensor& first = grad_outputs[0];
  std::vector<int64_t> bins;
  std::vector<at::Tensor> whole;
  for (const at::Tensor& grad_out : grad_outputs) {
    bins.push_back(grad_out.size(2));
    whole.push_back(grad_out.contiguous(at::MemoryFormat::ChannelsLast));
  }
  const at::Tensor out =
      at::empty({first.size(0), first.size(1), size[0], size[1]}, first.options(), at::MemoryFormat::ChannelsLast);
  if (first.scalar_type() == at::kHalf) {
    out.zero_();
    for (const at::Tensor& grad_out : whole) out.add_(at::_adaptive_avg_pool2d_backward(grad_out, out));
    return out;
  }
  with_pool_loops(first, [&](const auto& table) { spread(table, whole, pool_plan(size[0], size[1], bins), out); });
  return out;
}

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
