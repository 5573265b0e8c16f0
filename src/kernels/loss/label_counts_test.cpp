#include "kernels/loss/label_counts.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/image.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::test_device;

TEST(LabelCounts, EqualsBincount) {
  for (const int64_t classes : {1, 2, 19, 150, 1000, 20000}) {
    at::manual_seed(classes);
    const at::Tensor labels = at::randint(-1, classes, {3, 41, 67}, at::kLong);
    const at::Tensor expected = at::bincount((labels + 1).flatten(), {}, classes + 1).slice(0, 1);
    for (const auto type : {at::kShort, at::kInt, at::kLong}) {
      const at::Tensor counts = label_counts(labels.to(test_device(), type), classes).cpu();
      EXPECT_TRUE(counts.slice(0, 0, classes).equal(expected)) << classes;
      EXPECT_EQ(counts[classes].item<int64_t>(), 0);
    }
  }
}

TEST(LabelCounts, EachImageHasItsOwn) {
  const at::Tensor labels = at::randint(-1, 7, {5, 13, 9}, at::kShort).to(test_device());
  const at::Tensor counts = image_label_counts(labels, 7);
  ASSERT_EQ(counts.sizes(), (std::vector<int64_t>{5, 8}));
  for (int64_t i = 0; i < 5; ++i) EXPECT_TRUE(counts[i].equal(label_counts(labels[i], 7)));
  EXPECT_EQ(image_label_counts(labels.narrow(0, 0, 0), 7).size(0), 0);
}

TEST(LabelCounts, OthersAreCountedAtTheEnd) {
  const at::Tensor labels = at::tensor({0, 1, 1, kIgnoreLabel, 2, 5, -2}, at::kShort).to(test_device());
  EXPECT_TRUE(label_counts(labels, 2).cpu().equal(at::tensor({1, 2, 3}, at::kLong)));
  EXPECT_TRUE(label_counts(labels.slice(0, 0, 0), 2).cpu().equal(at::zeros({3}, at::kLong)));
  const at::Tensor wide = at::tensor({65536, 65537, 65535, 32768, -32769, -65536, 1}, at::kLong).to(test_device());
  EXPECT_TRUE(label_counts(wide, 2).cpu().equal(at::tensor({0, 1, 6}, at::kLong)));
  EXPECT_THROW(label_counts(at::zeros({2}), 2), Error);
}

}  // namespace
}  // namespace tessera
