#include "metric/object_counts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

// Rows of a map: digits are classes, '.' is class 0, '#' has no label.
LabelMap map_of(const std::vector<std::string>& rows) {
  LabelMap map(static_cast<int>(rows.size()), static_cast<int>(rows[0].size()));
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      const char c = rows[static_cast<size_t>(y)][static_cast<size_t>(x)];
      map.at(y, x) = c == '.' ? int16_t{0} : c == '#' ? kIgnoreLabel : static_cast<int16_t>(c - '0');
    }
  }
  return map;
}

const std::vector<bool> kOne = {false, true};  // class 1, the background not

// Three objects: one found with an IoU of 4/6, one missed; the third touches the predicted one in 2 of 4 pixels, not above 1/2.
TEST(ObjectCounts, WorkedExample) {
  const auto truth = map_of({"111..1..11", "111..1..11", "..........", ".........."});
  const auto found = map_of({".11....1.1", ".11....1.1", "..........", "11........"});
  const ObjectCounts counts = count_objects(truth, found, kOne)[1];
  EXPECT_EQ(counts.found, (ClassCounts{.tp = 1, .fp = 3, .fn = 2}));
  EXPECT_NEAR(counts.segmentation_quality(), 4.0 / 6, 1e-9);
  EXPECT_DOUBLE_EQ(counts.found.f1(), 2.0 / 7);
  EXPECT_NEAR(counts.panoptic_quality(), 2.0 / 7 * 4 / 6, 1e-9);
}

TEST(ObjectCounts, CornersJoinAndBackgroundIsLeftOut) {
  const auto map = map_of({"1..", ".1.", "..1"});
  const auto counts = count_objects(map, map, kOne);
  EXPECT_EQ(counts[1].found, (ClassCounts{.tp = 1}));
  EXPECT_EQ(counts[1].segmentation_quality(), 1);
  EXPECT_EQ(counts[0], ObjectCounts{});
}

TEST(ObjectCounts, ClassesMatchTheirOwn) {
  const auto truth = map_of({"11.22"}), found = map_of({"22.22"});
  const auto counts = count_objects(truth, found, {false, true, true});
  EXPECT_EQ(counts[1].found, (ClassCounts{.fn = 1}));
  EXPECT_EQ(counts[2].found, (ClassCounts{.tp = 1, .fp = 1}));
}

TEST(ObjectCounts, HalfIsNoMatch) {
  const auto truth = map_of({"11.."});
  EXPECT_EQ(count_objects(truth, map_of({"1..."}), kOne)[1].found, (ClassCounts{.fp = 1, .fn = 1}));
}

TEST(ObjectCounts, UnlabelledPixelsAreTakenOutOfTheIou) {
  // Of the 6 pixels predicted 3 have a label, and those are the object.
  const auto counts = count_objects(map_of({"###111.."}), map_of({"111111.."}), kOne)[1];
  EXPECT_EQ(counts.found, (ClassCounts{.tp = 1}));
  EXPECT_EQ(counts.segmentation_quality(), 1);
}

TEST(ObjectCounts, PredictedMostlyWhereNothingIsLabelledDoesNotCount) {
  EXPECT_EQ(count_objects(map_of({"###....."}), map_of({"11111..."}), kOne)[1].found, ClassCounts{});
  EXPECT_EQ(count_objects(map_of({"###....."}), map_of({"111111.."}), kOne)[1].found, (ClassCounts{.fp = 1}));  // half of it
}

TEST(ObjectCounts, NoObjectsNoAnswer) {
  const ObjectCounts none = count_objects(map_of({"...."}), map_of({"...."}), kOne)[1];
  EXPECT_TRUE(std::isnan(none.panoptic_quality()));
  EXPECT_TRUE(std::isnan(none.segmentation_quality()));
  const ObjectCounts missed = count_objects(map_of({"1..."}), map_of({"...."}), kOne)[1];
  EXPECT_EQ(missed.panoptic_quality(), 0);
  EXPECT_TRUE(std::isnan(missed.segmentation_quality()));
}

// The sum of counts does not depend on the order of images; 1/3 is no binary number.
TEST(ObjectCounts, SumsAreIntegers) {
  ObjectCounts two_thirds{.found = {.tp = 1}, .iou_sum = (int64_t{2} << 32) / 3},
      whole{.found = {.tp = 1}, .iou_sum = int64_t{1} << 32};
  ObjectCounts forth = two_thirds, back = whole;
  (forth += whole) += two_thirds;
  (back += two_thirds) += two_thirds;
  EXPECT_EQ(forth, back);
  EXPECT_NEAR(forth.segmentation_quality(), (2.0 / 3 + 1 + 2.0 / 3) / 3, 1e-9);
}

}  // namespace
}  // namespace tessera
