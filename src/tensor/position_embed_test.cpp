#include "tensor/position_embed.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/error.h"
#include "support/fixtures.h"
#include "support/made_values.h"

namespace tessera {
namespace {

using Grid = std::array<int64_t, 2>;

const std::vector<std::pair<std::string, PositionFit>> kFits{
    {"bicubic", PositionFit::kBicubic}, {"bicubic_plain", PositionFit::kBicubicPlain}, {"bilinear", PositionFit::kBilinear}};

TEST(PositionEmbed, ResizesAsTimmMmsegmentationAndTheSegmenterReference) {
  const nlohmann::json fixture = testing::load_fixture("vit.json");
  ASSERT_FALSE(fixture.at("positions").empty());
  for (const auto& row : fixture.at("positions")) {
    const Grid from = row.at("from").get<Grid>(), to = row.at("to").get<Grid>();
    const int64_t prefix = row.at("prefix");
    for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-10}, std::pair{at::kFloat, 1e-5}}) {
      const at::Tensor embed = testing::made({1, prefix + from[0] * from[1], 8}, 11, 2.0, type);
      for (const auto& [name, fit] : kFits)
        testing::expect_picked(resize_position_embed(embed, from, to, prefix, fit), row.at(name), tolerance, name);
    }
  }
}

TEST(PositionEmbed, SameGridIsLeftAloneAndWrongShapesAreRefused) {
  const at::Tensor embed = at::ones({1, 7, 4});
  EXPECT_TRUE(resize_position_embed(embed, {2, 3}, {2, 3}, 1, PositionFit::kBicubic).is_same(embed));
  EXPECT_EQ(resize_position_embed(embed, {2, 3}, {3, 2}, 1, PositionFit::kBicubic).size(1),
            7);  // as many tokens, but another grid
  EXPECT_THROW(resize_position_embed(embed, {2, 4}, {2, 3}, 1, PositionFit::kBicubic), Error);
}

TEST(PositionEmbed, LowPrecisionIsResizedInFloat32) {
  const at::Tensor embed = testing::made({1, 1 + 16, 8}, 5, 1.0, at::kFloat).to(at::kBFloat16);
  const at::Tensor exact = resize_position_embed(embed.to(at::kFloat), {4, 4}, {6, 5}, 1, PositionFit::kBilinear);
  EXPECT_TRUE(resize_position_embed(embed, {4, 4}, {6, 5}, 1, PositionFit::kBilinear).equal(exact.to(at::kBFloat16)));
}

// With a gradient the arithmetic is another.
TEST(PositionEmbed, LearnsTheSamePositions) {
  const at::Tensor embed = at::randn({1, 21, 6}, at::kDouble), grad_out = at::randn({1, 31, 6}, at::kDouble);
  for (const auto& [name, fit] : kFits) {
    const at::Tensor leaf = embed.clone().requires_grad_();
    const at::Tensor resized = resize_position_embed(leaf, {4, 5}, {6, 5}, 1, fit);
    EXPECT_LT((resized - resize_position_embed(embed, {4, 5}, {6, 5}, 1, fit)).abs().max().item<double>(), 1e-12);
    // The resize is linear: the gradient's product with any change is what the change makes of the result.
    const at::Tensor change = at::randn_like(embed);
    const at::Tensor moved = resize_position_embed(change, {4, 5}, {6, 5}, 1, fit);
    const at::Tensor gradient = torch::autograd::grad({(resized * grad_out).sum()}, {leaf})[0];
    EXPECT_NEAR((gradient * change).sum().item<double>(), (moved * grad_out).sum().item<double>(), 1e-10) << name;
  }
}

}  // namespace
}  // namespace tessera
