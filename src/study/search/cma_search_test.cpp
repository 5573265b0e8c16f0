#include "study/search/cma_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "support/search_run.h"

namespace tessera {
namespace {

using testing::ended;
using testing::SearchRun;

SearchContext four_numbers() {
  return {.space = Space({{.name = "x", .low = -5, .high = 5},
                          {.name = "rate", .low = 1e-4, .high = 1e-1, .log = true},
                          {.name = "size", .kind = Parameter::Kind::kInteger, .low = 1, .high = 64, .step = 1},
                          {.name = "fixed", .low = 2, .high = 2}}),
          .directions = {Direction::kMinimize},
          .seed = 3};
}

double bowl_of_four(const Assignment& point) {
  return std::pow(point.at("x") - 1, 2) + std::pow(std::log10(point.at("rate")) + 2.5, 2) +
         std::pow((point.at("size") - 20) / 10, 2);
}

TEST(CmaSearch, FindsTheBottomOfABowl) {
  CmaSearch search({}, four_numbers());
  const Space space = four_numbers().space;
  SearchRun run(search);
  run.trials(200, [&](const Assignment& point) {
    EXPECT_EQ(point, space.cleaned(point));
    return bowl_of_four(point);
  });
  EXPECT_LT(run.least(), 0.02);
}

TEST(CmaSearch, GenerationsMayRunAtOnceAndEndInAnyOrder) {
  CmaSearch search({.population = 8}, four_numbers()), replayed({.population = 8}, four_numbers());
  std::vector<Trial> told;
  for (int64_t generation = 0; generation < 12; ++generation) {
    std::vector<Trial> running;
    for (int64_t i = 0; i < 8; ++i)
      running.push_back(
          {.number = 8 * generation + i, .state = TrialState::kRunning, .parameters = *search.suggest(8 * generation + i)});
    for (auto trial = running.rbegin(); trial != running.rend(); ++trial) {
      told.push_back(ended(trial->number, trial->parameters, bowl_of_four(trial->parameters)));
      search.observe(told.back());
    }
  }
  std::sort(told.begin(), told.end(), [](const Trial& a, const Trial& b) { return a.number < b.number; });
  for (const Trial& trial : told) replayed.observe(trial);
  EXPECT_EQ(*search.suggest(96), *replayed.suggest(96));
  // As one after another.
  CmaSearch alone({.population = 8}, four_numbers());
  SearchRun run(alone);
  run.trials(96, bowl_of_four);
  EXPECT_EQ(run.told(), told);
}

TEST(CmaSearch, LearnsWhereTrialsAreAheadOfTheirGeneration) {
  // Five run at all times, so some are drawn before the generation before theirs has ended; after a restart the same comes out.
  CmaSearch search({}, four_numbers());
  std::vector<Trial> told;
  std::vector<Trial> running;
  int64_t number = 0;
  double least = 1e9;
  while (told.size() < 200) {
    while (running.size() < 5) {
      running.push_back({.number = number, .state = TrialState::kRunning, .parameters = *search.suggest(number)});
      search.observe(running.back());
      ++number;
    }
    const size_t first = static_cast<size_t>(number * 7) % running.size();  // they end in some order
    told.push_back(ended(running[first].number, running[first].parameters, bowl_of_four(running[first].parameters)));
    search.observe(told.back());
    least = std::min(least, told.back().values[0]);
    running.erase(running.begin() + static_cast<ptrdiff_t>(first));
  }
  EXPECT_LT(least, 0.02);
  CmaSearch again({}, four_numbers());
  for (const Trial& trial : told) again.observe(trial);
  EXPECT_EQ(*search.suggest(number), *again.suggest(number));
}

TEST(CmaSearch, FailedTrialsAreTheWorstOfTheirGeneration) {
  CmaSearch search({}, four_numbers());
  SearchRun run(search);
  run.trials(160, [](const Assignment& point) {
    return point.at("x") < 0.5 ? std::numeric_limits<double>::quiet_NaN() : bowl_of_four(point);
  });
  int failed = 0;
  for (size_t i = 80; i < 160; ++i) failed += std::isnan(run.values()[i]) ? 1 : 0;
  EXPECT_LT(failed, 20);
}

TEST(CmaSearch, BeginsAnewWhereItHasConverged) {
  // One number, and all that counts is being near 1: it becomes a point, and then looks elsewhere.
  CmaSearch search({}, {.space = Space({{.name = "x", .low = 0, .high = 4}}), .directions = {Direction::kMinimize}});
  SearchRun run(search);
  run.trials(900, [](const Assignment& point) { return std::abs(point.at("x") - 1); });
  EXPECT_LT(run.least(), 1e-9);
  double farthest = 0;
  for (size_t i = 300; i < 900; ++i) farthest = std::max(farthest, run.values()[i]);
  EXPECT_GT(farthest, 0.1);
}

TEST(CmaSearch, BeginsWhereAnEarlierStudyEnded) {
  CmaSearch search({}, four_numbers());
  for (int64_t i = 1; i <= 40; ++i) {
    const double x = -5 + 0.25 * static_cast<double>(i);
    const Assignment point = {{"x", x}, {"rate", 0.003}, {"size", 20}, {"fixed", 2}};
    search.observe(ended(-i, point, bowl_of_four(point)));
  }
  double mean = 0;
  for (int64_t i = 0; i < 7; ++i) mean += bowl_of_four(*search.suggest(i)) / 7;
  EXPECT_LT(mean, 3);
  CmaSearch fresh({}, four_numbers());
  double of_fresh = 0;
  for (int64_t i = 0; i < 7; ++i) of_fresh += bowl_of_four(*fresh.suggest(i)) / 7;
  EXPECT_LT(mean, of_fresh);
}

std::string refusal(const SearchContext& context, const CmaSearchConfig& config = {}) {
  try {
    CmaSearch search(config, context);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(CmaSearch, RefusesWhatIsNoNumber) {
  EXPECT_NE(refusal({.space = testing::space_of_models()}).find("model is a choice"), std::string::npos);
  SearchContext several = four_numbers();
  several.directions.push_back(Direction::kMaximize);
  EXPECT_NE(refusal(several).find("2 objectives"), std::string::npos);
  EXPECT_NE(refusal(four_numbers(), {.population = 3}).find("at least 4"), std::string::npos);
  EXPECT_NE(refusal({.space = Space({{.name = "x", .low = 1, .high = 1}})}).find("one value"), std::string::npos);
}

}  // namespace
}  // namespace tessera
