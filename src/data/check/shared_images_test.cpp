#include "data/check/shared_images.h"

#include <gtest/gtest.h>

#include "support/fixed_dataset.h"

namespace tessera {
namespace {

using testing::bad_sample;
using testing::FixedDataset;
using testing::row_sample;

Survey survey(Split split, std::vector<Sample> samples) {
  return survey_split(split, std::make_shared<FixedDataset>(std::move(samples)), 1, {});
}

TEST(SharedImages, NamesImagesThatTwoSplitsShare) {
  const Survey train = survey(Split::kTrain, {row_sample("x", {1, 2}, {0, 1}), bad_sample("y"), row_sample("z", {5, 6}, {0, 1}),
                                              row_sample("same", {5, 6}, {0, 1})});
  const Survey val = survey(Split::kVal, {row_sample("a", {5, 6}, {1, 1}), row_sample("b", {5, 7}, {0, 1}),
                                          row_sample("c", {1, 2}, {0, 1}), bad_sample("d")});
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(shared_images(train, val), (Pairs{{"z", "a"}, {"x", "c"}}));
  EXPECT_TRUE(shared_images(train, survey(Split::kVal, {bad_sample("d")})).empty());
}

}  // namespace
}  // namespace tessera
