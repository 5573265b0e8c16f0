#include "data/datasets/coco_classes.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

const std::vector<CocoCategory> kStones = {{5, "fern", "green"}, {22, "moss", "green"}, {40, "boulder", "stone"}};
const std::vector<CocoCategory> kMixed = {{1, "person", "person"}, {2, "car", "vehicle"}, {91, "kite", "toy"}};

TEST(CocoClasses, SupercategoriesHaveTheirFixedOrder) {
  const CocoClassMap map = map_coco_classes({}, kMixed);
  EXPECT_EQ(map.names, (std::vector<std::string>{"background", "person", "vehicle", "outdoor", "animal", "accessory", "sports",
                                                 "kitchen", "food", "furniture", "electronic", "appliance", "indoor", "toy"}));
  EXPECT_EQ(map.of_category.at(2), 2);
  EXPECT_EQ(map.of_category.at(91), 13);
  EXPECT_EQ(map.unpainted, 0);
}

TEST(CocoClasses, CustomSupercategoriesStandAlone) {
  EXPECT_EQ(map_coco_classes({}, kStones).names, (std::vector<std::string>{"background", "green", "stone"}));
}

TEST(CocoClasses, WithoutBackgroundObjectsStartAtZero) {
  CocoConfig config;
  config.classes = CocoClasses::kCategory;
  config.background = false;
  const CocoClassMap map = map_coco_classes(config, kStones);
  EXPECT_EQ(map.names, (std::vector<std::string>{"fern", "moss", "boulder"}));
  EXPECT_EQ(map.of_category.at(40), 2);
  EXPECT_EQ(map.unpainted, kIgnoreLabel);
}

TEST(CocoClasses, BinaryIsObjectOrNot) {
  CocoConfig config;
  config.classes = CocoClasses::kBinary;
  const CocoClassMap map = map_coco_classes(config, kStones);
  EXPECT_EQ(map.names, (std::vector<std::string>{"background", "object"}));
  EXPECT_EQ(map.of_category.at(5), 1);
  EXPECT_EQ(map.of_category.at(40), 1);
  config.background = false;
  EXPECT_THROW(map_coco_classes(config, kStones), Error);
}

TEST(CocoClasses, CategoriesOfOneNameAreOneClass) {
  CocoConfig config;
  config.classes = CocoClasses::kCategory;
  const std::vector<CocoCategory> categories = {{0, "background", ""}, {1, "cat", "a"}, {2, "dog", "a"}, {9, "cat", "b"}};
  const CocoClassMap map = map_coco_classes(config, categories);
  EXPECT_EQ(map.names, (std::vector<std::string>{"background", "cat", "dog"}));
  EXPECT_EQ(map.of_category, (std::map<int64_t, int16_t>{{0, 0}, {1, 1}, {2, 2}, {9, 1}}));
  config.background = false;
  EXPECT_EQ(map_coco_classes(config, categories).names, (std::vector<std::string>{"background", "cat", "dog"}));
  config = {.classes = CocoClasses::kBinary};
  EXPECT_EQ(map_coco_classes(config, categories).of_category, (std::map<int64_t, int16_t>{{0, 0}, {1, 1}, {2, 1}, {9, 1}}));
}

TEST(CocoClasses, SaysWhatIsMissing) {
  EXPECT_THROW(map_coco_classes({}, {}), Error);
  EXPECT_THROW(map_coco_classes({}, std::vector<CocoCategory>{{1, "a", ""}}), Error);
}

}  // namespace
}  // namespace tessera
