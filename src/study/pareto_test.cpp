#include "study/pareto.h"

#include <gtest/gtest.h>

#include <limits>

namespace tessera {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Pareto, RanksByHand) {
  //   second
  //   3 | a . . d        a, b and c: nobody is better in both; d is behind b, e behind d and c; f is a copy of b
  //   2 | . b . .
  //   1 | . . . c
  EXPECT_EQ(domination_ranks({{0, 3}, {1, 2}, {3, 1}, {3, 3}, {4, 4}, {1, 2}}), (std::vector<size_t>{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(domination_ranks({{2}, {1}, {2}}), (std::vector<size_t>{1, 0, 1}));
  EXPECT_TRUE(domination_ranks({}).empty());
}

TEST(Pareto, HypervolumeByHand) {
  EXPECT_DOUBLE_EQ(hypervolume({{1}, {3}}, {5}), 4);
  EXPECT_DOUBLE_EQ(hypervolume({{0, 2}, {1, 1}, {2, 2}}, {3, 3}), 3 * 1 + 2 * 1);
  EXPECT_DOUBLE_EQ(hypervolume({{0, 0, 0}}, {1, 2, 3}), 6);
  EXPECT_DOUBLE_EQ(hypervolume({{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, {2, 2, 2}),
                   4);  // the whole cube of 8 but for four small ones
  EXPECT_DOUBLE_EQ(hypervolume({}, {1, 1}), 0);
}

TEST(Pareto, ChoosesWhatAddsMost) {
  // Alone the middle one covers the most; then the ends are equal, and the first one comes first.
  EXPECT_EQ(largest_hypervolume({{0, 3}, {1, 1}, {3, 0}}, 1, {4, 4}), (std::vector<size_t>{1}));
  EXPECT_EQ(largest_hypervolume({{0, 3}, {1, 1}, {3, 0}}, 2, {4, 4}), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(largest_hypervolume({{1, 1}, {1, 1}, {0, 3}}, 2, {4, 4}), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(largest_hypervolume({{1, 1}, {1, 1}, {0, 3}}, 3, {4, 4}), (std::vector<size_t>{0, 1, 2}));
}

Trial complete(std::vector<double> values) {
  return {.state = TrialState::kComplete, .values = std::move(values)};
}

TEST(Pareto, FrontIsOfCompleteTrialsWithNumbers) {
  const std::vector<Direction> two = {Direction::kMaximize, Direction::kMinimize};
  std::vector<Trial> trials = {complete({0.5, 10}), complete({0.6, 10}), complete({0.4, 5}), complete({kNan, 1})};
  trials.push_back({.state = TrialState::kStopped});
  EXPECT_EQ(pareto_front(trials, two), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(pareto_front({complete({0.5}), complete({0.7}), complete({0.7})}, {Direction::kMaximize}),
            (std::vector<size_t>{1, 2}));
  EXPECT_TRUE(pareto_front({}, two).empty());
}

}  // namespace
}  // namespace tessera
