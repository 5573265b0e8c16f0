#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "report/html_report.h"
#include "report/report_curves.h"

namespace tessera {

// One metric of one model, with the interval it lies in; beside the first model also how much better it is. Shares 0..1, NaN
// where not measured.
struct ComparedValue {
  double value = kNoValue, low = kNoValue, high = kNoValue;
  double difference = kNoValue, difference_low = kNoValue, difference_high = kNoValue, p = kNoValue;
  std::string verdict{};
};

// One metric of all models.
struct ComparedMetric {
  std::string name{};
  std::vector<ComparedValue> models{};
};

struct ComparedSetting {
  std::string key{};
  std::vector<std::string> values{};
};

// What the page is made of. Lists by model have the order of `models`; the first one is what the others are measured against.
struct ComparisonInput {
  std::vector<std::string> models{};
  std::vector<std::string> facts{};         // of each model: "step 400 of runs/a"
  std::vector<ComparedMetric> means{};      // over classes; the first is the headline
  std::vector<ComparedMetric> classes{};    // IoU of each class, by the class's name
  std::vector<ComparedSetting> settings{};  // those that differ
  std::vector<Curve> curves{};
  std::vector<ReportPicture> pictures{};
  std::string legend{};  // what a picture shows, from left to right
  int64_t images = 0, left_out = 0;
  double confidence = 0.95;
};

std::string render_comparison(const ComparisonInput& input);

}  // namespace tessera
