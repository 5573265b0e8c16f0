#include "study/search/parzen_estimator.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::vector<Parameter> parameters() {
  Parameter model{.name = "model", .kind = Parameter::Kind::kChoice};
  model.choices = {{"\"a\""}, {"\"b\""}, {"\"c\""}};
  return {{.name = "share", .low = -1, .high = 2},
          {.name = "rate", .low = 1e-4, .high = 1, .log = true},
          {.name = "size", .kind = Parameter::Kind::kInteger, .low = 1, .high = 8, .step = 1},
          {.name = "warmth", .low = -3, .high = 3, .normal = Parameter::Normal{0, 1}},
          model};
}

std::vector<std::vector<double>> by_parameter(const std::vector<std::vector<double>>& points) {
  std::vector<std::vector<double>> lists(parameters().size());
  for (const std::vector<double>& point : points) {
    for (size_t i = 0; i < lists.size(); ++i) lists[i].push_back(point[i]);
  }
  return lists;
}

TEST(ParzenEstimator, ObservationsThatCameAndWentLeaveNoTrace) {
  for (const bool magic_clip : {true, false}) {
    const ParzenSettings settings{.magic_clip = magic_clip};
    Rng rng(7, Stream::kStudy);
    std::vector<std::vector<double>> points, asked;
    const auto draw = [&] {
      std::vector<double> point;
      for (const Parameter& parameter : parameters()) point.push_back(parameter.at_share(rng.uniform()));
      return point;
    };
    for (int i = 0; i < 24; ++i) asked.push_back(draw());
    ParzenEstimator changed(parameters(), by_parameter(points), {}, settings);
    for (int round = 0; round < 400; ++round) {
      // It grows to some hundred, then shrinks to nothing.
      const bool grows = rng.uniform() < (round < 250 ? 0.8 : 0.1);
      if (grows || points.empty()) {
        const size_t place = rng.below(static_cast<uint32_t>(points.size() + 1));
        const std::vector<double> point = points.empty() || rng.uniform() < 0.7 ? draw() : points[place / 2];  // or a copy
        points.insert(points.begin() + static_cast<ptrdiff_t>(place), point);
        changed.insert(place, point);
      } else {
        const size_t place = rng.below(static_cast<uint32_t>(points.size()));
        points.erase(points.begin() + static_cast<ptrdiff_t>(place));
        changed.erase(place);
      }
      changed.set_weights(weights_by_age(points.size()));
      const ParzenEstimator fresh(parameters(), by_parameter(points), weights_by_age(points.size()), settings);
      ASSERT_EQ(changed.log_density(by_parameter(asked)), fresh.log_density(by_parameter(asked))) << round;
      for (size_t i = 0; i < 4; ++i) ASSERT_EQ(changed.kernels(i).widths(), fresh.kernels(i).widths()) << round;
    }
  }
}

}  // namespace
}  // namespace tessera
