#include "nn/blocks/batch_norm.h"

#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/types.h>

#include "tensor/step_context.h"

namespace tessera {
namespace {

TEST(BatchNorm, WholeBatchEqualsTorch) {
  torch::manual_seed(1);
  BatchNorm2d ours(3);
  torch::nn::BatchNorm2d torchs(3);
  ours->to(torch::kDouble);
  torchs->to(torch::kDouble);
  const at::Tensor x = torch::randn({4, 3, 5, 5}, torch::kDouble);
  EXPECT_TRUE(torch::allclose(ours(x), torchs(x), 1e-12, 1e-12));
  EXPECT_TRUE(torch::allclose(ours->running_var, torchs->running_var, 1e-12, 1e-12));
  ours->eval();
  torchs->eval();
  EXPECT_TRUE(torch::allclose(ours(x), torchs(x), 1e-12, 1e-12));
}

// 8 samples in units of 2: one pass of 8, two of 4 and four of 2 are the same function and leave the same statistics.
TEST(BatchNorm, UnitsMakePassesOfAnySizeAgree) {
  torch::manual_seed(2);
  const at::Tensor x = torch::randn({8, 3, 5, 5}, torch::kDouble);
  std::vector<at::Tensor> outputs, means;
  for (const int64_t pass : {8, 4, 2}) {
    BatchNorm2d norm(3);
    norm->to(torch::kDouble);
    std::vector<at::Tensor> parts;
    for (const at::Tensor& part : x.split(pass)) {
      const StepContextGuard context({.segments = norm_segments(pass, 2)});
      parts.push_back(norm(part));
    }
    outputs.push_back(torch::cat(parts));
    means.push_back(norm->running_mean.clone());
  }
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_TRUE(outputs[i].equal(outputs[0]));
    EXPECT_TRUE(means[i].equal(means[0]));
  }
}

}  // namespace
}  // namespace tessera
