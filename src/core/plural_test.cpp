#include "core/plural.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Plural, OnlyOneIsNone) {
  EXPECT_EQ(plural(1, "image"), "image");
  EXPECT_EQ(plural(0, "image"), "images");
  EXPECT_EQ(plural(2, "image"), "images");
}

}  // namespace
}  // namespace tessera
