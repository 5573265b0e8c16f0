#include "metric/confusion_matrix.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

at::Tensor image(std::vector<int16_t> values) {  // (1, 1, n)
  return at::tensor(values, at::kShort).view({1, 1, -1});
}

std::vector<int64_t> cells(const ConfusionMatrix& matrix) {
  const at::Tensor counts = matrix.counts();
  return {counts.const_data_ptr<int64_t>(), counts.const_data_ptr<int64_t>() + counts.numel()};
}

TEST(ConfusionMatrix, CountsPairsAndIgnoresIgnoreLabel) {
  ConfusionMatrix matrix(3);
  matrix.add(image({0, 0, 1, 2, -1, -1}), image({0, 1, 1, 0, 0, 2}).to(at::kLong));
  EXPECT_EQ(cells(matrix), (std::vector<int64_t>{1, 1, 0, 0, 1, 0, 1, 0, 0}));
}

TEST(ConfusionMatrix, CountsEachPixelOnceWhateverTheBatch) {
  const at::Tensor index = at::arange(6 * 5 * 7, at::kLong).view({6, 5, 7});
  const at::Tensor labels = ((index * 7 + 3) % 5 - 1).to(at::kShort);
  const at::Tensor predictions = (index * 5 + 1) % 4;
  ConfusionMatrix whole(4);
  whole.add(labels, predictions);
  for (const int64_t batch : {1, 2, 4}) {
    ConfusionMatrix parts(4);
    for (int64_t start = 0; start < 6; start += batch) {
      const int64_t end = std::min<int64_t>(6, start + batch);
      parts.add(labels.slice(0, start, end), predictions.slice(0, start, end));
    }
    EXPECT_EQ(cells(parts), cells(whole));
  }
  EXPECT_EQ(whole.counts().sum().item<int64_t>(), labels.ge(0).sum().item<int64_t>());
}

TEST(ConfusionMatrix, MatricesOfRanksAdd) {
  ConfusionMatrix a(2);
  ConfusionMatrix b(2);
  a.add(image({0, 1}), image({0, 0}));
  b.add(image({1, 1}), image({1, 0}));
  a.add_counts(b.counts());
  EXPECT_EQ(cells(a), (std::vector<int64_t>{1, 0, 2, 1}));
  EXPECT_DOUBLE_EQ(a.report().pixel_accuracy, 0.5);
}

TEST(ConfusionMatrix, CountsStayAsTheyWereWhenTheMatrixGoesOn) {
  ConfusionMatrix matrix(2);
  matrix.add(image({0}), image({0}));
  const at::Tensor before = matrix.counts();
  matrix.add(image({0}), image({0}));
  EXPECT_EQ(before[0][0].item<int64_t>(), 1);
}

TEST(ConfusionMatrix, ClassOutOfRangeIsRefused) {
  ConfusionMatrix matrix(3);
  EXPECT_THROW(matrix.add(image({3}), image({0})), Error);
  EXPECT_THROW(matrix.add(image({255}), image({0})), Error);
  EXPECT_THROW(matrix.add(image({0}), image({-1})), Error);
  EXPECT_THROW(matrix.add(image({0, 1}), image({0})), Error);
}

}  // namespace
}  // namespace tessera
