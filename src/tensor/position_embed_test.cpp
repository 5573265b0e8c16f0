#include "tensor/position_embed.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "support/fixtures.h"
#include "support/made_values.h"

namespace tessera {
namespace {

using Grid = std::array<int64_t, 2>;

TEST(PositionEmbed, ResizesAsTimmAndAsTheSegmenterReference) {
  const nlohmann::json fixture = testing::load_fixture("vit.json");
  ASSERT_FALSE(fixture.at("positions").empty());
  for (const auto& row : fixture.at("positions")) {
    const Grid from = row.at("from").get<Grid>(), to = row.at("to").get<Grid>();
    const int64_t prefix = row.at("prefix");
    for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-10}, std::pair{at::kFloat, 1e-5}}) {
      const at::Tensor embed = testing::made({1, prefix + from[0] * from[1], 8}, 11, 2.0, type);
      testing::expect_picked(resize_position_embed(embed, from, to, prefix, true), row.at("bicubic"), tolerance, "bicubic");
      testing::expect_picked(resize_position_embed(embed, from, to, prefix, false), row.at("bilinear"), tolerance, "bilinear");
    }
  }
}

TEST(PositionEmbed, SameGridIsLeftAloneAndWrongShapesAreRefused) {
  const at::Tensor embed = at::ones({1, 7, 4});
  EXPECT_TRUE(resize_position_embed(embed, {2, 3}, {2, 3}, 1, true).is_same(embed));
  EXPECT_EQ(resize_position_embed(embed, {2, 3}, {3, 2}, 1, true).size(1), 7);  // as many tokens, but another grid
  EXPECT_THROW(resize_position_embed(embed, {2, 4}, {2, 3}, 1, true), Error);
}

TEST(PositionEmbed, LowPrecisionIsResizedInFloat32) {
  const at::Tensor embed = testing::made({1, 1 + 16, 8}, 5, 1.0, at::kFloat).to(at::kBFloat16);
  const at::Tensor exact = resize_position_embed(embed.to(at::kFloat), {4, 4}, {6, 5}, 1, false);
  EXPECT_TRUE(resize_position_embed(embed, {4, 4}, {6, 5}, 1, false).equal(exact.to(at::kBFloat16)));
}

}  // namespace
}  // namespace tessera
