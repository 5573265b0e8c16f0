#include "study/page/importance.h"

#include <gtest/gtest.h>

#include "study/search/random_search.h"

namespace tessera {
namespace {

TEST(ParameterImportance, FindsWhatMatters) {
  Parameter model{.name = "model", .kind = Parameter::Kind::kChoice, .choices = {{"\"a\""}, {"\"b\""}}};
  Parameter depth{.name = "depth", .kind = Parameter::Kind::kInteger, .low = 1, .high = 5, .step = 1};
  depth.when = Condition{"model", {0}};
  const Space space({{.name = "rate", .low = 1e-4, .high = 1e-1, .log = true}, model, {.name = "nothing"}, depth});
  RandomSearch search(space, 1);
  std::vector<Trial> trials;
  for (int64_t i = 0; i < 80; ++i) {
    const Assignment point = *search.suggest(i);
    const double value = -std::abs(std::log10(point.at("rate")) + 2.5) + 0.3 * point.at("model");
    trials.push_back({.number = i, .state = TrialState::kComplete, .parameters = point, .values = {value}});
  }
  const std::vector<double> found = parameter_importance(space, trials, Direction::kMaximize);
  ASSERT_EQ(found.size(), 4U);
  std::map<std::string, double> by_name;
  for (size_t i = 0; i < 4; ++i) by_name[space.parameters()[i].name] = found[i];
  EXPECT_GT(by_name["rate"], 0.4);
  EXPECT_LT(by_name["rate"], 1.05);
  EXPECT_GT(by_name["rate"], 3 * by_name["model"]);
  EXPECT_GT(by_name["model"], by_name["nothing"]);
  EXPECT_LT(by_name["nothing"], 0.05);
  EXPECT_EQ(found, parameter_importance(space, trials, Direction::kMaximize));
}

TEST(ParameterImportance, SaysNothingOfFewOrEqualTrials) {
  const Space space({{.name = "x"}});
  std::vector<Trial> trials;
  for (int64_t i = 0; i < 9; ++i)
    trials.push_back({.number = i, .state = TrialState::kComplete, .parameters = {{"x", 0.1 * i}}, .values = {1}});
  EXPECT_TRUE(parameter_importance(space, trials, Direction::kMaximize).empty());
  trials.push_back({.number = 9, .state = TrialState::kComplete, .parameters = {{"x", 0.9}}, .values = {1}});
  EXPECT_EQ(parameter_importance(space, trials, Direction::kMaximize), std::vector<double>{0});
}

}  // namespace
}  // namespace tessera
