#include "core/class_bits.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ClassBits, APlaneTellsOneClassFromAllOthers) {
  LabelMap map(1, 5);
  map.labels = {0, 1, 2, 3, kIgnoreLabel};
  EXPECT_EQ(class_plane(map, 0).labels, (std::vector<int16_t>{0, 1, 0, 1, kIgnoreLabel}));
  EXPECT_EQ(class_plane(map, 1).labels, (std::vector<int16_t>{0, 0, 1, 1, kIgnoreLabel}));
  EXPECT_EQ(class_plane(map, 1).size(), (Size{1, 5}));
}

TEST(ClassBits, TheLastOfFifteenClassesIsNoSign) {
  const auto all = static_cast<int16_t>(label_limit(kMaxMultiLabelClasses, true) - 1);
  EXPECT_GT(all, 0);
  EXPECT_TRUE(has_class(all, kMaxMultiLabelClasses - 1));
  EXPECT_FALSE(has_class(kIgnoreLabel, 0));
  EXPECT_EQ(label_limit(3, false), 3);
}

}  // namespace
}  // namespace tessera
