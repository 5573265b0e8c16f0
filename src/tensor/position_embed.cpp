#include "tensor/position_embed.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace tessera {

at::Tensor resize_grid(const at::Tensor& grid, std::array<int64_t, 2> to, PositionFit fit) {
  switch (fit) {
    case PositionFit::kBicubic: return at::_upsample_bicubic2d_aa(grid, to, /*align_corners=*/false);
    case PositionFit::kBicubicPlain: return at::upsample_bicubic2d(grid, to, /*align_corners=*/false);
    case PositionFit::kBilinear: break;
  }
  return at::upsample_bilinear2d(grid, to, /*align_corners=*/false);
}

namespace {

// (to, from): what resizing one axis multiplies with.
at::Tensor axis_matrix(int64_t from, int64_t to, PositionFit fit, const at::TensorOptions& options) {
  // Two columns: of a tensor with one, libtorch cannot tell in which order its numbers lie.
  const at::Tensor unit = at::eye(from, options).view({1, from, from, 1}).expand({1, from, from, 2}).contiguous();
  return resize_grid(unit, {to, 2}, fit).select(3, 0).view({from, to}).t();
}

// The same by two products: libtorch's gradient of a resize adds with atomics on a GPU, in any order.
at::Tensor resize_by_products(const at::Tensor& image, std::array<int64_t, 2> to, PositionFit fit) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const at::Tensor rows = axis_matrix(image.size(2), to[0], fit, image.options().memory_format(std::nullopt));
  const at::Tensor columns = axis_matrix(image.size(3), to[1], fit, image.options().memory_format(std::nullopt));
  return at::matmul(at::matmul(rows, image), columns.t());
}

}  // namespace

at::Tensor resize_position_embed(const at::Tensor& embed, std::array<int64_t, 2> from, std::array<int64_t, 2> to,
                                 int64_t prefix, PositionFit fit) {
  TSR_CHECK(embed.dim() == 3 && embed.size(0) == 1 && embed.size(1) == prefix + from[0] * from[1],
            "position embeddings of a {}x{} grid and {} tokens should have shape (1, {}, width), these have ({})", from[0],
            from[1], prefix, prefix + from[0] * from[1], fmt::join(embed.sizes(), ", "));
  if (from == to) return embed;
  const int64_t width = embed.size(2);
  const at::ScalarType type = embed.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor grid = embed.slice(1, prefix).to(type).view({1, from[0], from[1], width}).permute({0, 3, 1, 2});
  const bool learns = at::GradMode::is_enabled() && embed.requires_grad();
  const at::Tensor resized = learns ? resize_by_products(grid, to, fit) : resize_grid(grid, to, fit);
  const at::Tensor tokens = resized.permute({0, 2, 3, 1}).reshape({1, to[0] * to[1], width}).to(embed.scalar_type());
  return at::cat({embed.slice(1, 0, prefix), tokens}, 1);
}

}  // namespace tessera
