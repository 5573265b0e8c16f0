#include "study/search/tpe_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/search_run.h"

namespace tessera {
namespace {

using testing::ended;
using testing::SearchRun;
using testing::space_of_models;

SearchContext two_numbers(Direction direction = Direction::kMinimize) {
  return {.space = Space({{.name = "x", .low = -5, .high = 5}, {.name = "y", .low = -5, .high = 5}}),
          .directions = {direction},
          .seed = 1};
}

double bowl(const Assignment& point) {
  return std::pow(point.at("x") - 1, 2) + std::pow(point.at("y") + 2, 2);
}

TEST(TpeSearch, FindsTheBottomOfABowl) {
  TpeSearch search({}, two_numbers());
  SearchRun run(search);
  run.trials(60, bowl);
  EXPECT_LT(run.least(), 0.3);
  // The later half was drawn around the bottom.
  int near = 0;
  for (size_t i = 30; i < 60; ++i) near += run.values()[i] < 8 ? 1 : 0;
  EXPECT_GT(near, 20);
}

TEST(TpeSearch, MaximizesWhereAsked) {
  TpeSearch search({}, two_numbers(Direction::kMaximize));
  SearchRun run(search);
  run.trials(60, [](const Assignment& point) { return -bowl(point); });
  EXPECT_GT(run.greatest(), -0.3);
}

TEST(TpeSearch, SuggestsTheSameInWhateverOrderItWasTold) {
  TpeSearch search({}, two_numbers()), again({}, two_numbers());
  SearchRun run(search);
  run.trials(30, bowl);
  for (auto trial = run.told().rbegin(); trial != run.told().rend(); ++trial) {
    Trial other = *trial;
    other.state = TrialState::kRunning;
    other.values.clear();
    again.observe(other);
    again.observe(*trial);
  }
  EXPECT_EQ(*search.suggest(30), *again.suggest(30));
  again.observe({.number = 30, .state = TrialState::kRunning, .parameters = *search.suggest(30)});
  EXPECT_EQ(*search.suggest(30), *again.suggest(30));  // of the trial itself it does not think
  EXPECT_NE(*search.suggest(31), *again.suggest(31));
}

TEST(TpeSearch, ParametersThatDependOnOneAnotherAreChosenTogether) {
  const auto ridge = [](const Assignment& point) { return std::abs(point.at("x") - point.at("y")); };
  TpeSearch search({}, two_numbers());
  SearchRun run(search);
  run.trials(100, ridge);
  double distance = 0;
  for (size_t i = 60; i < 100; ++i) distance += run.values()[i] / 40;
  EXPECT_LT(distance, 1.2);  // 3.3 where they are drawn without one another
}

TEST(TpeSearch, ConditionsAreKept) {
  const Space space = space_of_models();
  TpeSearch search({}, {.space = space, .directions = {Direction::kMinimize}, .seed = 2});
  SearchRun run(search);
  run.trials(60, [&](const Assignment& point) {
    EXPECT_EQ(point, space.cleaned(point)) << space.text(point);
    return point.at("model") == 0 ? std::abs(point.at("depth") - 3) : 5 + point.at("rate");
  });
  EXPECT_EQ(run.least(), 0);
}

// What one model has of its own is learned from its own trials, however much better those of the other one are.
TEST(TpeSearch, ABranchLearnsFromItsOwnBest) {
  Parameter model{.name = "model", .kind = Parameter::Kind::kChoice, .choices = {{"\"a\""}, {"\"b\""}}, .exhaustive = true};
  Parameter x{.name = "x", .low = -5, .high = 5, .when = Condition{"model", {0}}};
  Parameter y{.name = "y", .low = -5, .high = 5, .when = Condition{"model", {1}}};
  TpeSearch search({}, {.space = Space({model, x, y}), .directions = {Direction::kMinimize}, .seed = 3});
  SearchRun run(search);
  run.trials(80, [](const Assignment& point) {
    return point.at("model") == 0 ? std::abs(point.at("x")) : 10 + std::abs(point.at("y") - 3);
  });
  double distance = 0;
  for (size_t i = 41; i < 80; i += 2) distance += std::abs(run.told()[i].parameters.at("y") - 3) / 20;
  EXPECT_LT(distance, 1);  // 3.4 at random
}

TEST(TpeSearch, TriesNothingTwiceWhereThereIsMore) {
  Parameter size{.name = "size", .kind = Parameter::Kind::kInteger, .low = 1, .high = 6, .step = 1};
  Parameter model{.name = "model", .kind = Parameter::Kind::kChoice};
  for (const char* name : {"a", "b", "c", "d", "e"}) model.choices.push_back({name});
  TpeSearch search({}, {.space = Space({size, model}), .directions = {Direction::kMinimize}});
  SearchRun run(search);
  run.trials(30, [](const Assignment& point) { return point.at("size") + point.at("model"); });
  std::set<Assignment> points;
  for (const Trial& trial : run.told()) points.insert(trial.parameters);
  EXPECT_EQ(points.size(), 30u);
  EXPECT_TRUE(search.suggest(30));  // everything was tried: again then
}

TEST(TpeSearch, LeavesAloneWhereTrialsFail) {
  TpeSearch search({}, two_numbers());
  SearchRun run(search);
  run.trials(
      60, [](const Assignment& point) { return point.at("x") > 0 ? std::numeric_limits<double>::quiet_NaN() : point.at("y"); });
  int failed = 0;
  for (size_t i = 30; i < 60; ++i) failed += std::isnan(run.values()[i]) ? 1 : 0;
  EXPECT_LE(failed, 8);  // 15 where it does not matter
}

// 16 at once, none of which has ended: how far the nearest one is from each, over some seeds.
double distance_of_parallel_trials(bool constant_liar) {
  double sum = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SearchContext context = two_numbers();
    context.seed = seed;
    TpeSearch search({.constant_liar = constant_liar}, context);
    SearchRun run(search);
    run.trials(40, bowl);
    std::vector<Assignment> points;
    for (int64_t number = 40; number < 56; ++number) {
      points.push_back(*search.suggest(number));
      search.observe({.number = number, .state = TrialState::kRunning, .parameters = points.back()});
    }
    for (const Assignment& a : points) {
      double nearest = 100;
      for (const Assignment& b : points) {
        if (a != b) nearest = std::min(nearest, std::hypot(a.at("x") - b.at("x"), a.at("y") - b.at("y")));
      }
      sum += nearest;
    }
  }
  return sum / (8 * 16);
}

TEST(TpeSearch, ParallelTrialsDiffer) {
  EXPECT_GT(distance_of_parallel_trials(true), 1.3 * distance_of_parallel_trials(false));
}

TEST(TpeSearch, ContinuesFromEarlierTrials) {
  TpeSearch search({}, two_numbers());
  for (int64_t i = 1; i <= 20; ++i) {
    const double x = -5 + 0.5 * static_cast<double>(i);
    search.observe(ended(-i, {{"x", x}, {"y", -2}}, std::abs(x - 1)));
    search.observe(ended(-100 - i, {{"x", x}, {"y", 700}}, -1000));  // outside of the space
  }
  double distance = 0;
  for (int64_t i = 0; i < 10; ++i) distance += std::abs(search.suggest(i)->at("x") - 1) / 10;
  EXPECT_LT(distance, 1.5);
}

TEST(TpeSearch, SeveralObjectivesSpreadOverTheFront) {
  SearchContext context = two_numbers();
  context.directions = {Direction::kMinimize, Direction::kMaximize};
  TpeSearch search({}, context);
  std::vector<Trial> trials;
  for (int64_t i = 0; i < 80; ++i) {
    const Assignment point = *search.suggest(i);
    // The front is y = 0, from x = 0 to 2.
    const double y = point.at("y"), x = point.at("x");
    trials.push_back({.number = i,
                      .state = TrialState::kComplete,
                      .parameters = point,
                      .values = {x * x + y * y, -(x - 2) * (x - 2) - y * y}});
    search.observe(trials.back());
  }
  int on_left = 0, on_right = 0;
  for (size_t i = 40; i < 80; ++i) {
    const Assignment& point = trials[i].parameters;
    if (std::abs(point.at("y")) > 1) continue;
    (point.at("x") < 1 ? on_left : on_right) += point.at("x") > -0.5 && point.at("x") < 2.5 ? 1 : 0;
  }
  EXPECT_GE(on_left, 6);
  EXPECT_GE(on_right, 6);
}

TEST(TpeSearch, LearnsFromThousandsOfTrials) {
  TpeSearch search({}, two_numbers());
  Rng rng(5, Stream::kStudy);
  for (int64_t i = 0; i < 3000; ++i) {
    const Assignment point = {{"x", rng.uniform(-5, 5)}, {"y", rng.uniform(-5, 5)}};
    search.observe(ended(i, point, bowl(point)));
  }
  double mean = 0;
  for (int64_t i = 0; i < 10; ++i) mean += bowl(*search.suggest(3000 + i)) / 10;
  EXPECT_LT(mean, 0.5);  // 22 at random points
}

// Most of thousands of trials are not kept. The numbers are what came when all were.
TEST(TpeSearch, TrialsThatAreNotKeptAreNotMissed) {
  const SearchContext context{
      .space = Space({{.name = "x"}, {.name = "y"}, {.name = "k", .kind = Parameter::Kind::kInteger, .high = 3, .step = 1}}),
      .directions = {Direction::kMinimize},
      .seed = 3};
  const auto trial = [](int64_t i) {
    const auto at = static_cast<double>(i);
    const double x = std::fmod(at * 0.6180339887, 1), y = std::fmod(at * 0.7548776662, 1), k = static_cast<double>(i % 4);
    Trial made{.number = i, .state = TrialState::kComplete, .parameters = {{"x", x}, {"y", y}, {"k", k}}};
    made.state = i % 11 == 0 ? TrialState::kFailed : i % 7 == 0 ? TrialState::kStopped : TrialState::kComplete;
    if (made.state == TrialState::kComplete) made.values = {std::abs(x - 0.3) + std::abs(y - 0.6) + k};
    return made;
  };
  const auto expect_near = [](const std::optional<Assignment>& point, double x, double y) {
    EXPECT_NEAR(point->at("x"), x, 1e-9);
    EXPECT_NEAR(point->at("y"), y, 1e-9);
    EXPECT_EQ(point->at("k"), 0);
  };
  TpeSearch search({}, context), backwards({}, context);
  for (int64_t i = 0; i < 1500; ++i) search.observe(trial(i));
  expect_near(search.suggest(1500), 0.2520261584497045, 0.5776517590747582);
  expect_near(search.suggest(1501), 0.2457549057202657, 0.5771124091726801);
  for (int64_t i = 1500; i < 3000; ++i) search.observe(trial(i));
  expect_near(search.suggest(3000), 0.28466332424936924, 0.6036617480553139);
  for (int64_t i = 2999; i >= 0; --i) backwards.observe(trial(i));
  search.observe(trial(5));  // told of again, it counts once
  EXPECT_EQ(search.suggest(3001), backwards.suggest(3001));
  expect_near(search.suggest(3001), 0.2878398456002395, 0.5924775992876294);
}

// What is kept from one suggestion to the next is what a controller that is started again makes anew.
TEST(TpeSearch, SuggestsTheSameWhenStartedAgain) {
  for (const size_t objectives : {1, 2}) {
    SearchContext context{.space = space_of_models(), .seed = 4};
    context.directions.assign(objectives, Direction::kMinimize);
    TpeSearch search({}, context);
    Rng rng(6, Stream::kStudy);
    std::vector<Trial> told;
    for (int64_t i = 0; i < 500; ++i) {
      Trial trial{.number = i, .state = TrialState::kRunning};
      trial.parameters =
          i < 400
              ? context.space.cleaned(
                    {{"model", rng.below(2)}, {"depth", 1 + rng.below(9)}, {"rate", 1e-4 + 0.09 * rng.uniform()}, {"fixed", 3}})
              : *search.suggest(i);
      search.observe(trial);
      if (i % 7 != 0) {
        trial.state = i % 11 == 0 ? TrialState::kFailed : TrialState::kComplete;
        const double value = std::abs(std::log10(trial.parameters.at("rate")) + 2) + 0.1 * trial.parameters.at("model");
        if (trial.state == TrialState::kComplete) trial.values = {value, 1 / (0.1 + value) + 0.01 * rng.uniform()};
        trial.values.resize(std::min(trial.values.size(), objectives));
        search.observe(trial);
      }
      told.push_back(trial);
    }
    TpeSearch again({}, context);
    for (const Trial& trial : told) again.observe(trial);
    for (int64_t i = 500; i < 520; ++i) EXPECT_EQ(*search.suggest(i), *again.suggest(i)) << i;
  }
}

TEST(TpeSearch, ExhaustiveParametersAreTakenInTurn) {
  Parameter seed{.name = "seed", .kind = Parameter::Kind::kChoice};
  seed.choices = {{"1"}, {"2"}, {"3"}};
  seed.exhaustive = true;
  TpeSearch search({}, {.space = Space({seed, {.name = "x"}}), .directions = {Direction::kMinimize}});
  SearchRun run(search);
  run.trials(30, [](const Assignment& point) { return point.at("x"); });
  for (int64_t i = 0; i < 30; ++i)
    EXPECT_EQ(run.told()[static_cast<size_t>(i)].parameters.at("seed"), static_cast<double>(i % 3));
}

}  // namespace
}  // namespace tessera
