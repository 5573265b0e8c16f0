#include "study/search/enqueued_search.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "study/search/grid_search.h"

namespace tessera {
namespace {

Space two_choices() {
  Parameter a{.name = "a", .kind = Parameter::Kind::kChoice}, b{.name = "b", .kind = Parameter::Kind::kChoice};
  a.choices = {{"\"x\"", {"a=x"}}, {"\"y\"", {"a=y"}}};
  b.choices = {{"1", {"b=1"}}, {"2", {"b=2"}}};
  return Space({a, b});
}

TEST(EnqueuedSearch, ComesBeforeAWholeGrid) {
  const Space space = two_choices();
  EnqueuedSearch search(std::make_unique<GridSearch>(space), space, {parse_point(space, {{"a", "y"}, {"b", "2"}})}, 0);
  EXPECT_EQ(*search.suggest(0), (Assignment{{"a", 1}, {"b", 1}}));
  EXPECT_EQ(*search.suggest(1), (Assignment{{"a", 0}, {"b", 0}}));
  EXPECT_TRUE(search.suggest(4));
  EXPECT_FALSE(search.suggest(5));
}

TEST(EnqueuedSearch, DrawsWhatAPointLeavesOut) {
  const Space space = two_choices();
  EnqueuedSearch search(std::make_unique<GridSearch>(space), space, {{{"a", 1}}, {{"a", 1}}, {{"a", 1}}, {{"a", 1}}}, 5);
  std::map<double, int> drawn;
  for (int64_t i = 0; i < 4; ++i) {
    const Assignment point = *search.suggest(i);
    EXPECT_EQ(point.at("a"), 1);
    ++drawn[point.at("b")];
  }
  EXPECT_EQ(drawn.size(), 2u);
}

TEST(EnqueuedSearch, RefusesWhatTheSpaceHasNot) {
  const Space space = two_choices();
  EXPECT_THROW(parse_point(space, {{"c", "1"}}), UsageError);
  EXPECT_THROW(parse_point(space, {{"a", "z"}}), UsageError);
  EXPECT_THROW(EnqueuedSearch(std::make_unique<GridSearch>(space), space, {{{"a", 7}}}, 0), UsageError);
}

}  // namespace
}  // namespace tessera
