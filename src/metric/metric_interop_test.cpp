#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "metric/boundary_counts.h"
#include "metric/confusion_matrix.h"
#include "metric/object_counts.h"
#include "support/fixtures.h"

// Against scikit-learn, the authors' boundary IoU, and scikit-image's components: tests/interop/make_metrics.py.
namespace tessera {
namespace {

using nlohmann::json;

LabelMap drawn(const json& shape, const json& discs) {
  LabelMap map(shape.at("height"), shape.at("width"));
  for (const json& disc : discs) {
    const int cy = disc[0], cx = disc[1], radius = disc[2];
    for (int y = 0; y < map.height; ++y) {
      for (int x = 0; x < map.width; ++x) {
        if ((y - cy) * (y - cy) + (x - cx) * (x - cx) <= radius * radius) map.at(y, x) = disc[3];
      }
    }
  }
  return map;
}

struct Case {
  json answer;
  LabelMap truth, predicted;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const json& answer : testing::load_fixture("metrics.json").at("cases"))
    cases.push_back({answer, drawn(answer, answer.at("truth")), drawn(answer, answer.at("predicted"))});
  return cases;
}

constexpr int kClasses = 5;

void expect_same(double own, const json& expected, const std::string& what) {
  // One division of the same integers.
  if (expected.is_null()) {
    EXPECT_TRUE(std::isnan(own)) << what;
  } else {
    EXPECT_NEAR(own, expected.get<double>(), 1e-12) << what;
  }
}

TEST(MetricInterop, PixelsAsScikitLearn) {
  for (Case& c : all_cases()) {
    ConfusionMatrix matrix(kClasses);
    const std::vector<int64_t> shape{c.truth.height, c.truth.width};
    matrix.add(at::from_blob(c.truth.labels.data(), shape, at::kShort),
               at::from_blob(c.predicted.labels.data(), shape, at::kShort));
    const IouReport report = matrix.report();
    const json& expected = c.answer.at("pixels");
    for (size_t k = 0; k < kClasses; ++k) {
      expect_same(report.classes[k].iou, expected.at("iou")[k], "iou");
      expect_same(report.classes[k].precision, expected.at("precision")[k], "precision");
      expect_same(report.classes[k].accuracy, expected.at("recall")[k], "recall");
      expect_same(report.classes[k].dice, expected.at("f1")[k], "f1");
    }
    for (const auto& [name, value] : named_values(report)) {
      if (expected.contains(name)) expect_same(value, expected.at(name), name);
    }
  }
}

TEST(MetricInterop, BoundariesAsPublished) {
  for (const Case& c : all_cases()) {
    const auto counts = count_boundaries(c.truth, c.predicted, kClasses, c.answer.at("ratio"));
    for (size_t k = 0; k < kClasses; ++k) {
      const json& expected = c.answer.at("boundaries")[k];  // intersection, union
      EXPECT_EQ(counts[k].tp, expected[0]);
      EXPECT_EQ(counts[k].tp + counts[k].fp + counts[k].fn, expected[1]);
    }
  }
}

TEST(MetricInterop, ObjectsAsScikitImage) {
  for (const Case& c : all_cases()) {
    const auto counts = count_objects(c.truth, c.predicted, std::vector<bool>(kClasses, true));
    for (size_t k = 0; k < kClasses; ++k) {
      const json& expected = c.answer.at("objects")[k];  // labelled, predicted, matched, sum of IoU
      EXPECT_EQ(counts[k].found.labelled(), expected[0]);
      EXPECT_EQ(counts[k].found.predicted(), expected[1]);
      EXPECT_EQ(counts[k].found.tp, expected[2]);
      const double matched = expected[2], sum = expected[3];
      // Each IoU is kept to 2^-32.
      if (matched > 0) {
        EXPECT_NEAR(counts[k].segmentation_quality(), sum / matched, 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
