#include <gtest/gtest.h>

#include "study/pareto.h"
#include "study/search/cma_search.h"
#include "study/search/parzen_estimator.h"
#include "study/search/tpe_split.h"
#include "support/fixtures.h"

// Against what Optuna and the package cmaes compute: tests/interop/make_optuna.py.
namespace tessera {
namespace {

using nlohmann::json;

const json& fixture() {
  static const json all = testing::load_fixture("optuna.json");
  return all;
}

Parameter parameter_of(const std::string& name) {
  const json& in = fixture().at("space").at(name);
  Parameter p{.name = name, .low = in.at("low"), .high = in.at("high"), .step = in.at("step"), .log = in.at("log")};
  const int choices = in.at("choices");
  for (int i = 0; i < choices; ++i) p.choices.push_back({std::to_string(i)});
  if (choices > 0) p.kind = Parameter::Kind::kChoice;
  return p;
}

void expect_near(const std::vector<double>& ours, const std::vector<double>& theirs, const std::string& what,
                 double tolerance = 1e-9) {
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_NEAR(ours[i], theirs[i], tolerance * std::max(1.0, std::abs(theirs[i]))) << what << "[" << i << "]";
}

void expect_near(const SquareMatrix& ours, const json& theirs, const std::string& what) {
  for (size_t i = 0; i < ours.size(); ++i) {
    std::vector<double> row;
    for (size_t j = 0; j < ours.size(); ++j) row.push_back(ours(i, j));
    expect_near(row, theirs.at(i), what);
  }
}

TEST(OptunaInterop, ParzenEstimators) {
  for (const json& made : fixture().at("parzen")) {
    const std::vector<std::string> names = made.at("names");
    std::vector<Parameter> parameters;
    std::vector<std::vector<double>> observations, points;
    for (const std::string& name : names) {
      parameters.push_back(parameter_of(name));
      observations.push_back(made.at("observations").at(name));
      points.push_back(made.at("points").at(name));
    }
    const ParzenEstimator estimator(parameters, observations, weights_by_age(observations[0].size()),
                                    {.prior_weight = made.at("prior_weight"), .magic_clip = made.at("magic_clip")});
    const std::string what = made.at("names").dump() + " of " + std::to_string(observations[0].size());
    expect_near(estimator.weights(), made.at("weights"), what);
    for (size_t i = 0; i < names.size(); ++i) {
      if (!made.at("kernels").contains(names[i])) continue;
      expect_near(estimator.kernels(i).centres(), made.at("kernels").at(names[i]).at("centres"), what);
      expect_near(estimator.kernels(i).widths(), made.at("kernels").at(names[i]).at("widths"), what);
    }
    expect_near(estimator.log_density(points), made.at("log_density"), what);
  }
}

TEST(OptunaInterop, GoodTrials) {
  const std::map<std::string, TrialState> states = {
      {"RUNNING", TrialState::kRunning}, {"PRUNED", TrialState::kStopped}, {"COMPLETE", TrialState::kComplete}};
  for (const json& made : fixture().at("split")) {
    std::vector<Direction> directions;
    for (const std::string name : made.at("directions"))
      directions.push_back(name == "maximize" ? Direction::kMaximize : Direction::kMinimize);
    TpeSplit split(directions.size());
    int64_t number = 0;
    for (const json& row : made.at("trials")) {
      Trial trial{.state = states.at(row.at("state"))};
      if (!row.at("values").is_null()) trial.values = row.at("values").get<std::vector<double>>();
      for (const json& report : row.at("reports")) trial.reports.push_back({report.at(0), report.at(1)});
      split.tell(number++, outcome_of(trial, directions));
    }
    EXPECT_EQ(split.good_without(-1).numbers, made.at("good").get<std::vector<int64_t>>()) << made.at("directions");
  }
}

TEST(OptunaInterop, DominationAndHypervolume) {
  for (const json& made : fixture().at("pareto")) {
    const std::vector<Losses> points = made.at("points");
    EXPECT_EQ(domination_ranks(points), made.at("ranks").get<std::vector<size_t>>());
    EXPECT_NEAR(hypervolume(points, made.at("reference")), made.at("hypervolume"), 1e-9);
    const std::vector<size_t> front = made.at("front");
    std::vector<Losses> of_front;
    for (const size_t i : front) of_front.push_back(points[i]);
    std::vector<size_t> chosen;
    for (const size_t i : largest_hypervolume(of_front, front.size() / 2, made.at("reference"))) chosen.push_back(front[i]);
    EXPECT_EQ(chosen, made.at("chosen").get<std::vector<size_t>>()) << made.at("points");
  }
}

TEST(OptunaInterop, CmaLearnsFromGenerations) {
  for (const json& made : fixture().at("cma")) {
    const size_t dimensions = made.at("generations").at(0).at("mean").size();
    const size_t given = made.at("given");
    CmaDistribution cma(std::vector<double>(dimensions, 0.5), 1.0 / 6,
                        given > 0 ? given : CmaDistribution::usual_population(dimensions));
    ASSERT_EQ(cma.population(), made.at("population").get<size_t>());
    for (const json& generation : made.at("generations")) {
      cma.learn(generation.at("ranked"));
      const std::string what = std::to_string(dimensions) + " dimensions: ";
      expect_near(cma.mean(), generation.at("mean"), what + "mean");
      expect_near(std::vector<double>{cma.sigma()}, {generation.at("sigma")}, what + "sigma");
      expect_near(cma.path_of_sigma(), generation.at("path_of_sigma"), what + "path of sigma");
      expect_near(cma.path_of_covariance(), generation.at("path_of_covariance"), what + "path of the covariance");
      expect_near(cma.covariance(), generation.at("covariance"), what + "covariance");
    }
  }
}

TEST(OptunaInterop, WarmStartOfCma) {
  for (const json& made : fixture().at("warm_start")) {
    const CmaDistribution cma = warm_start(made.at("ranked"), 8);
    expect_near(cma.mean(), made.at("mean"), "mean");
    expect_near(std::vector<double>{cma.sigma()}, {made.at("sigma")}, "sigma");
    expect_near(cma.covariance(), made.at("covariance"), "covariance");
  }
}

}  // namespace
}  // namespace tessera
