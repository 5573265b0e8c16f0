#include "data/check/fault_groups.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(FaultGroups, ReasonsThatDifferInNamesAndNumbersAreOne) {
  const auto groups = group_faults({
      {"a1", "cells/masks/a1.png: label 5 at (y 3, x 0): expected 0..1 (2 classes); set data.classes"},
      {"b", "no mask for the image cells/images/b.jpg"},
      {"c", "cells/masks/c.png: label 11 at (y 40, x 7): expected 0..1 (2 classes); set data.classes"},
      {"d", "no mask for the image cells/images/d.jpg"},
      {"e", "cells/images/e.jpg: not an image"},
  });
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].faults.size(), 2U);
  EXPECT_TRUE(groups[0].about_values);
  EXPECT_EQ(groups[0].faults[1].id, "c");
  EXPECT_EQ(groups[1].faults.size(), 2U);
  EXPECT_FALSE(groups[1].about_values);
  EXPECT_EQ(groups[2].faults[0].id, "e");
}

}  // namespace
}  // namespace tessera
