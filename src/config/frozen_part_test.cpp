#include "config/frozen_part.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

TEST(FrozenPart, IsFrozenAlwaysOrForAPartOfTheRun) {
  EXPECT_TRUE(parse_frozen_part("backbone.layer1").always());
  const FrozenPart until = parse_frozen_part("backbone until 2ep"), from = parse_frozen_part(" backbone  from 0.5dur ");
  EXPECT_EQ(until.part, "backbone");
  EXPECT_EQ(from.part, "backbone");
  EXPECT_FALSE(until.always());
  for (const int64_t step : {0, 9, 10, 19}) {
    EXPECT_EQ(until.at(step, 5, 20), step < 10) << step;
    EXPECT_EQ(from.at(step, 5, 20), step >= 10) << step;
  }
  const FrozenPart between = parse_frozen_part("head from 1ep until 12ba");
  EXPECT_FALSE(between.at(4, 5, 20));
  EXPECT_TRUE(between.at(5, 5, 20));
  EXPECT_TRUE(between.at(11, 5, 20));
  EXPECT_FALSE(between.at(12, 5, 20));
}

TEST(FrozenPart, OtherTextIsAnErrorThatShowsTheForm) {
  for (const char* text :
       {"", "backbone until", "backbone 5ep", "backbone till 5ep", "backbone until 5ep until 6ep", "backbone until soon"})
    EXPECT_THROW(parse_frozen_part(text), UsageError) << text;
}

}  // namespace
}  // namespace tessera
