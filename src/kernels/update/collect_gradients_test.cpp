#include "kernels/update/collect_gradients.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "support/test_device.h"

namespace tessera {
namespace {

// More pieces than one launch takes, of all lengths and types, in another layout too.
TEST(CollectGradients, WritesAndAddsEachAtItsPlace) {
  const auto options = at::TensorOptions(testing::test_device());
  torch::manual_seed(5);
  std::vector<at::Tensor> gradients;
  std::vector<int64_t> offsets;
  int64_t end = 0;
  const auto add_piece = [&](const at::Tensor& gradient) {
    gradients.push_back(gradient);
    offsets.push_back(end);
    end += (gradient.numel() + 31) / 16 * 16;  // a gap behind each
  };
  for (int64_t i = 0; i < 110; ++i) {
    const at::ScalarType type = i % 3 == 0 ? at::kBFloat16 : i % 3 == 1 ? at::kFloat : at::kHalf;
    add_piece(torch::randn({1 + 37 * i % 301}, options).to(type));
  }
  add_piece(torch::randn({16, 3, 5, 7}, options).to(at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast));
  add_piece(torch::randn({70, 99}, options));
  add_piece(torch::randn({0}, options));

  at::Tensor arena = torch::full({end}, 7.0, options), expected = arena.clone();
  for (size_t i = 0; i < gradients.size(); ++i)
    expected.as_strided(gradients[i].sizes(), gradients[i].strides(), offsets[i]).copy_(gradients[i]);
  collect_gradients(arena, gradients, offsets, /*add=*/false);
  EXPECT_TRUE(arena.equal(expected));
  for (size_t i = 0; i < gradients.size(); ++i)
    expected.as_strided(gradients[i].sizes(), gradients[i].strides(), offsets[i]).add_(gradients[i]);
  collect_gradients(arena, gradients, offsets, /*add=*/true);
  EXPECT_TRUE(arena.equal(expected));
}

TEST(CollectGradients, HalfPrecisionGoesIntoFloat64Too) {
  const auto options = at::TensorOptions(testing::test_device());
  at::Tensor arena = torch::zeros({16}, options.dtype(at::kDouble));
  collect_gradients(arena, {torch::ones({5}, options.dtype(at::kBFloat16)), torch::ones({8}, options.dtype(at::kHalf))}, {1, 8},
                    false);
  EXPECT_EQ(arena.sum().item<double>(), 13);
}

TEST(CollectGradients, RefusesWhatDoesNotFit) {
  const auto options = at::TensorOptions(testing::test_device());
  at::Tensor arena = torch::zeros({16}, options);
  EXPECT_ANY_THROW(collect_gradients(arena, {torch::ones({8}, options)}, {12}, false));
  EXPECT_ANY_THROW(collect_gradients(arena, {torch::ones({8, 8}, options).slice(1, 0, 2)}, {0}, false));
  EXPECT_ANY_THROW(collect_gradients(arena, {torch::ones({8}, options.dtype(at::kDouble))}, {0}, false));
  EXPECT_EQ(arena.sum().item<float>(), 0);
}

}  // namespace
}  // namespace tessera
