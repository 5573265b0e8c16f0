#include "train/op_costs.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>

#include "kernels/loss/label_counts.h"

namespace tessera {
namespace {

TEST(OpCosts, CountsProductsAndOwnTensors) {
  const at::Tensor x = torch::randn({2, 3, 8, 8}).requires_grad_(), weight = torch::randn({5, 3, 3, 3}).requires_grad_();
  const at::Tensor a = torch::randn({7, 4}), b = torch::randn({4, 6});
  const at::Tensor labels = torch::zeros({2, 8, 8}, torch::kShort);
  std::map<std::string, OpCosts> found;
  for (const OpCosts& op : op_costs([&] {
         torch::conv2d(x, weight, {}, 1, 1).sum().backward();
         a.mm(b);
         label_counts(labels, 3);
       })) {
    found[op.name] = op;
  }
  const double convolution = 2.0 * (2 * 5 * 8 * 8) * (3 * 3 * 3);
  EXPECT_EQ(found["aten::convolution"].flops, convolution);
  EXPECT_EQ(found["aten::convolution_backward"].flops, 2 * convolution);
  EXPECT_EQ(found["aten::mm"].flops, 2.0 * 7 * 4 * 6);
  EXPECT_GE(found["tessera::label_counts"].bytes, 2.0 * 2 * 8 * 8);
}

TEST(OpCosts, TransposedConvolutionsAreCountedByTheirInputs) {
  const at::Tensor x = torch::randn({2, 6, 5, 5}).requires_grad_(), weight = torch::randn({6, 4, 2, 2}).requires_grad_();
  const at::Tensor bias = torch::randn({7}), a = torch::randn({3, 5}), b = torch::randn({5, 7});
  std::map<std::string, OpCosts> found;
  for (const OpCosts& op : op_costs([&] {
         torch::conv_transpose2d(x, weight, {}, 2).sum().backward();
         torch::addmm(bias, a, b);
       })) {
    found[op.name] = op;
  }
  const double convolution = 2.0 * (2 * 6 * 5 * 5) * (4 * 2 * 2);
  EXPECT_EQ(found["aten::convolution"].flops, convolution);
  EXPECT_EQ(found["aten::convolution_backward"].flops, 2 * convolution);
  EXPECT_EQ(found["aten::addmm"].flops, 2.0 * 3 * 5 * 7);
}

}  // namespace
}  // namespace tessera
