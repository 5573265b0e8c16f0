#include "nn/blocks/patch_embed.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <optional>

#include "kernels/common/fused.h"
#include "support/made_values.h"

namespace tessera {
namespace {

// Tokens, the image's gradient and those of weight and bias.
std::vector<at::Tensor> run(bool fused, at::MemoryFormat layout, int64_t height, int64_t width) {
  PatchEmbed embed(3, 10, 4);
  testing::fill_made(*embed);
  embed->to(at::kDouble);
  std::optional<FusedTransformerGuard> guard;
  if (fused) guard.emplace();
  const at::Tensor image = testing::made({2, 3, height, width}, 5, 2, at::kDouble).contiguous(layout).requires_grad_();
  const at::Tensor y = embed(image);
  (y * testing::made(y.sizes(), 9, 2, at::kDouble)).sum().backward();
  std::vector<at::Tensor> all = {y.detach(), image.grad()};
  for (const at::Tensor& parameter : embed->parameters()) all.push_back(parameter.grad());
  return all;
}

TEST(PatchEmbed, AProductOfPatchesIsTheConvolution) {
  for (const at::MemoryFormat layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    for (const auto& [height, width] : std::vector<std::array<int64_t, 2>>{{8, 12}, {4, 4}, {9, 7}}) {
      const auto expected = run(false, layout, height, width), got = run(true, layout, height, width);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].sizes(), expected[i].sizes());
        EXPECT_LT((got[i] - expected[i]).abs().max().item<double>(), 1e-10) << "tensor " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
