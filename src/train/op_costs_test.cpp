#include "train/op_costs.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>

#include "kernels/loss/label_counts.h"

namespace tessera {
namespace {

TEST(LeastWork, CountsProductsAndOwnTensors) {
  const at::Tensor x = torch::randn({2, 3, 8, 8}).requires_grad_(), weight = torch::randn({5, 3, 3, 3}).requires_grad_();
  const at::Tensor a = torch::randn({7, 4}), b = torch::randn({4, 6});
  const at::Tensor labels = torch::zeros({2, 8, 8}, torch::kShort);
  std::map<std::string, LeastWork> found;
  for (const LeastWork& op : least_work([&] {
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

}  // namespace
}  // namespace tessera
