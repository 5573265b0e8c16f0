#include "metric/image_counts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

// Two classes share ten pixels: 4 of class 0, of which 3 are found; 6 of class 1, all found.
const std::vector<ClassCounts> kTwo = {{3, 0, 1, 6}, {6, 1, 0, 3}};

double named(const std::string& name, const std::vector<ClassCounts>& counts) {
  const auto names = counted_metric_names({"sky", "road"});
  const auto values = counted_metrics(counts, /*overlap=*/false);
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? -1 : values.at(static_cast<size_t>(at - names.begin()));
}

TEST(ImageCounts, MetricsAreThoseOfTheReportUnderTheirNames) {
  EXPECT_EQ(counted_metric_names({"sky", "road"}).size(), counted_metrics(kTwo, false).size());
  EXPECT_DOUBLE_EQ(named("mean_iou", kTwo), (3.0 / 4 + 6.0 / 7) / 2);
  EXPECT_DOUBLE_EQ(named("pixel_accuracy", kTwo), 0.9);
  EXPECT_DOUBLE_EQ(named("iou/road", kTwo), 6.0 / 7);
  EXPECT_DOUBLE_EQ(named("precision/sky", kTwo), 1);
  EXPECT_DOUBLE_EQ(named("recall/sky", kTwo), 3.0 / 4);
}

TEST(ImageCounts, KeepsWhatAnImageShowsAndWhereClassesOverlapAll) {
  const std::vector<ClassCounts> counts = {{0, 0, 0, 9}, {0, 2, 0, 7}, {5, 0, 1, 3}};
  EXPECT_EQ(image_counts(counts, false), (ImageCounts{{1, counts[1]}, {2, counts[2]}}));
  EXPECT_EQ(image_counts(counts, true).size(), 3U);
}

}  // namespace
}  // namespace tessera
