#include "kernels/common/dropout_mask.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tensor/device.h"

namespace tessera {
namespace {

TEST(DropoutMask, SampleKeepsItsMaskInAnyBatch) {
  const at::Tensor ids = at::tensor({7, 3, 900}, at::kLong);
  const at::Tensor together = dropout_mask(ids, 1001, 0.3, 42);
  for (int64_t n = 0; n < 3; ++n) EXPECT_TRUE(together[n].equal(dropout_mask(ids.slice(0, n, n + 1), 1001, 0.3, 42)[0]));
  EXPECT_FALSE(together[0].equal(together[1]));
  EXPECT_FALSE(together.equal(dropout_mask(ids, 1001, 0.3, 43)));
}

TEST(DropoutMask, DropsTheShareAskedForAndKeepsTheMean) {
  const at::Tensor mask = dropout_mask(at::arange(10, at::kLong), 100000, 0.25, 1);
  EXPECT_NEAR((mask == 0).to(at::kDouble).mean().item<double>(), 0.25, 0.002);  // 3 sigma of 10^6 draws is 0.0013
  EXPECT_NEAR(mask.to(at::kDouble).mean().item<double>(), 1.0, 0.003);
  EXPECT_TRUE(dropout_mask(at::arange(2, at::kLong), 5, 0.0, 1).equal(at::ones({2, 5})));
}

TEST(DropoutMaskGpu, EqualsCpuToTheBit) {
  if (cuda_plugin() == nullptr || cuda_plugin()->gpus().empty()) GTEST_SKIP() << cuda_status();
  const at::Tensor ids = at::tensor({int64_t{0}, int64_t{5}, int64_t{123456789012345}}, at::kLong);
  const at::Tensor gpu = dropout_mask(ids.to(at::kCUDA), 4097, 0.4, 99);
  EXPECT_TRUE(gpu.is_cuda());
  EXPECT_TRUE(gpu.cpu().equal(dropout_mask(ids, 4097, 0.4, 99)));
}

}  // namespace
}  // namespace tessera
