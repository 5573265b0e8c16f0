#include "study/search/grid_search.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

Parameter choice(const std::string& name, int count) {
  Parameter p{.name = name, .kind = Parameter::Kind::kChoice};
  for (int i = 0; i < count; ++i) p.choices.push_back({std::to_string(i), {name + "=" + std::to_string(i)}});
  return p;
}

TEST(GridSearch, LastParameterChangesFastest) {
  GridSearch grid(Space({choice("a", 2), choice("b", 3)}));
  ASSERT_EQ(grid.size(), 6);
  EXPECT_EQ(*grid.suggest(0), (Assignment{{"a", 0}, {"b", 0}}));
  EXPECT_EQ(*grid.suggest(1), (Assignment{{"a", 0}, {"b", 1}}));
  EXPECT_EQ(*grid.suggest(5), (Assignment{{"a", 1}, {"b", 2}}));
  EXPECT_FALSE(grid.suggest(6));
}

TEST(GridSearch, WhatIsNotInUseMakesNoPoints) {
  Parameter inner = choice("inner", 3);
  inner.when = Condition{"outer", {1}};
  GridSearch grid(Space({inner, choice("outer", 3)}));
  EXPECT_EQ(grid.size(), 1 + 3 + 1);
}

TEST(GridSearch, PointsOfRangesHaveBothEnds) {
  Parameter rate{.name = "lr", .low = 1e-4, .high = 1e-2, .log = true, .points = 3};
  GridSearch grid(Space({rate}));
  EXPECT_DOUBLE_EQ(grid.suggest(0)->at("lr"), 1e-4);
  EXPECT_DOUBLE_EQ(grid.suggest(1)->at("lr"), 1e-3);
  EXPECT_DOUBLE_EQ(grid.suggest(2)->at("lr"), 1e-2);
  Parameter few{.name = "n", .kind = Parameter::Kind::kInteger, .low = 1, .high = 3, .step = 1, .points = 9};
  EXPECT_EQ(GridSearch(Space({few})).size(), 3);
}

TEST(GridSearch, TooManyPointsAreAnErrorAtOnce) {
  std::vector<Parameter> seven;
  for (int i = 0; i < 7; ++i) seven.push_back(choice("p" + std::to_string(i), 10));
  try {
    GridSearch grid{Space(seven)};
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("= 1e+07 points"), std::string::npos) << e.what();
  }
  EXPECT_THROW(GridSearch(Space({{.name = "x"}})), UsageError);  // a range without steps
}

}  // namespace
}  // namespace tessera
