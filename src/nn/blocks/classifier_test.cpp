#include "nn/blocks/classifier.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

namespace tessera {
namespace {

// The gradients lie in the logits' own longer rows, and in dense ones.
TEST(Classifier, PaddedProductIsThePointwiseConvolution) {
  torch::manual_seed(9);
  for (const int64_t classes : {1, 5, 8, 19}) {
    const auto leaf = [](at::IntArrayRef size) { return torch::randn(size, torch::kDouble).requires_grad_(); };
    const at::Tensor x =
        torch::randn({2, 12, 5, 7}, torch::kDouble).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
    const at::Tensor weight = leaf({classes, 12, 1, 1}), bias = leaf({classes});
    const at::Tensor ours = padded_product(x, weight, bias), expected = torch::conv2d(x, weight, bias);
    EXPECT_EQ(ours.sizes(), expected.sizes());
    EXPECT_TRUE(torch::allclose(ours, expected, 1e-12, 1e-12));
    const int64_t pitch = (classes + 7) / 8 * 8;
    EXPECT_EQ(ours.stride(3), pitch);
    const at::Tensor dense = torch::randn(expected.sizes(), torch::kDouble);
    const at::Tensor pitched = torch::zeros({2, 5, 7, pitch}, torch::kDouble).permute({0, 3, 1, 2}).narrow(1, 0, classes);
    pitched.copy_(dense);
    const auto wanted = torch::autograd::grad({expected}, {x, weight, bias}, {dense});
    for (const at::Tensor& grad_out : {dense, pitched}) {
      const auto found = torch::autograd::grad({ours}, {x, weight, bias}, {grad_out}, /*retain_graph=*/true);
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(torch::allclose(found[i], wanted[i], 1e-12, 1e-12)) << i;
      EXPECT_TRUE(found[0].is_contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

}  // namespace
}  // namespace tessera
