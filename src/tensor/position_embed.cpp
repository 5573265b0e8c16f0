#include "tensor/position_embed.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace tessera {

at::Tensor resize_position_embed(const at::Tensor& embed, std::array<int64_t, 2> from, std::array<int64_t, 2> to,
                                 int64_t prefix, bool bicubic) {
  TSR_CHECK(embed.dim() == 3 && embed.size(0) == 1 && embed.size(1) == prefix + from[0] * from[1],
            "position embeddings of a {}x{} grid and {} tokens should have shape (1, {}, width), these have ({})", from[0],
            from[1], prefix, prefix + from[0] * from[1], fmt::join(embed.sizes(), ", "));
  if (from == to) return embed;
  const int64_t width = embed.size(2);
  const at::ScalarType type = embed.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor grid = embed.slice(1, prefix).to(type).view({1, from[0], from[1], width}).permute({0, 3, 1, 2});
  const at::Tensor resized = bicubic ? at::_upsample_bicubic2d_aa(grid, to, /*align_corners=*/false)
                                     : at::upsample_bilinear2d(grid, to, /*align_corners=*/false);
  const at::Tensor tokens = resized.permute({0, 2, 3, 1}).reshape({1, to[0] * to[1], width}).to(embed.scalar_type());
  return at::cat({embed.slice(1, 0, prefix), tokens}, 1);
}

}  // namespace tessera
