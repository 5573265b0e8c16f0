#include "core/split.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Split, GivesOnePartMoreThanSeparators) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(split("0,12,cpu", ','), (Parts{"0", "12", "cpu"}));
  EXPECT_EQ(split(",a,,", ','), (Parts{"", "a", "", ""}));
  EXPECT_EQ(split("", ','), Parts{""});
}

}  // namespace
}  // namespace tessera
