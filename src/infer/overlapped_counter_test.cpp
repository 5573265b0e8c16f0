#include "infer/overlapped_counter.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

EvalTruth truth(int64_t index, std::vector<int16_t> labels) {
  LabelMap map(1, static_cast<int>(labels.size()));
  map.labels = std::move(labels);
  return {index, "sample " + std::to_string(index), std::move(map)};
}

at::Tensor row(const std::vector<int64_t>& classes) {
  return torch::tensor(classes).to(at::kShort).view({1, -1});
}

// On a CPU `add` counts at once; a device that is none of the CPU's makes it count beside the caller.
class OverlappedCounterTest : public ::testing::TestWithParam<at::DeviceType> {};

TEST_P(OverlappedCounterTest, SumsGroupsAndScoresImagesInTheirOrder) {
  OverlappedCounter counter({.num_classes = 2}, GetParam());
  counter.add({truth(4, {0, 0, 1, 1}), truth(5, {-1, -1})}, {row({0, 1, 1, 1}), row({0, 1})});
  counter.add({truth(2, {1, 1})}, {row({1, 1})});
  counter.wait();
  const EvalResult result = counter.result();
  EXPECT_EQ(result.confusion, (std::vector<int64_t>{1, 1, 0, 4}));
  EXPECT_EQ(result.num_images, 3);
  EXPECT_DOUBLE_EQ(result.report.pixel_accuracy, 5.0 / 6);
  ASSERT_EQ(result.images.size(), 2U);  // the second has no labelled pixel
  EXPECT_EQ(result.images[0].index, 4);
  EXPECT_DOUBLE_EQ(result.images[0].mean_iou, (1.0 / 2 + 2.0 / 3) / 2);
  EXPECT_EQ(result.images[1].id, "sample 2");
  EXPECT_DOUBLE_EQ(result.images[1].mean_iou, 1);
}

TEST_P(OverlappedCounterTest, WhatGoesWrongIsThrownWhereItIsWaitedFor) {
  OverlappedCounter counter({.num_classes = 2}, GetParam());
  EXPECT_THROW(
      {
        counter.add({truth(0, {0, 1})}, {row({0, 2})});  // there is no class 2
        counter.wait();
      },
      Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, OverlappedCounterTest, ::testing::Values(at::kCPU, at::kCUDA));

}  // namespace
}  // namespace tessera
