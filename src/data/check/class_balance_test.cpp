#include "data/check/class_balance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

SampleClasses sample(std::vector<std::pair<int16_t, int64_t>> pixels) {
  SampleClasses one{.pixels = std::move(pixels), .labelled = 0, .usable = true};
  for (const auto& [label, count] : one.pixels) one.labelled += count;
  return one;
}

// Class 0 has 240 of 300 pixels and is in all three, class 1 the other 60, in two; class 2 is nowhere.
std::vector<SampleClasses> three_samples() {
  return {sample({{0, 90}, {1, 10}}), sample({{0, 100}}), sample({{0, 50}, {1, 50}})};
}

TEST(ClassBalance, RareClassesAreDrawnMoreOften) {
  BalanceConfig balance;
  balance.temperature = 0.5;
  const std::vector<double> classes = class_chances(three_samples(), 3, balance);
  const double common = std::exp((1 - 0.8) / 0.5), rare = std::exp((1 - 0.2) / 0.5);
  EXPECT_NEAR(classes[0], common / (common + rare), 1e-15);
  EXPECT_NEAR(classes[1], rare / (common + rare), 1e-15);
  EXPECT_EQ(classes[2], 0);
  const std::vector<double> samples = sample_chances(three_samples(), 3, balance);
  EXPECT_NEAR(samples[0], classes[0] / 3 + classes[1] / 2, 1e-15);
  EXPECT_NEAR(samples[1], classes[0] / 3, 1e-15);
  EXPECT_NEAR(std::accumulate(samples.begin(), samples.end(), 0.0), 1, 1e-14);
}

TEST(ClassBalance, ASampleShowsAClassFromSomePixelsOn) {
  BalanceConfig balance;
  balance.temperature = 0.001;  // the rarest class alone
  balance.min_pixels = 20;
  EXPECT_EQ(sample_chances(three_samples(), 3, balance)[2], 1);
  balance.min_pixels = 101;
  EXPECT_CONTAINS(testing::message_of<UsageError>([&] { sample_chances(three_samples(), 3, balance); }),
                  "no sample has 101 labelled pixels of any class");
}

TEST(ClassBalance, StrengthIsTheShareThatGoesByClasses) {
  BalanceConfig balance;
  const std::vector<double> full = sample_chances(three_samples(), 3, balance);
  balance.strength = 0.25;
  const std::vector<double> quarter = sample_chances(three_samples(), 3, balance);
  balance.strength = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(quarter[i], 0.25 * full[i] + 0.75 / 3, 1e-15);
    EXPECT_EQ(sample_chances(three_samples(), 3, balance)[i], 1.0 / 3);
  }
}

TEST(ClassBalance, UnreadableSamplesAreNotDrawn) {
  std::vector<SampleClasses> samples = three_samples();
  samples.emplace_back();
  EXPECT_EQ(sample_chances(samples, 3, {})[3], 0);
}

// tests/interop/make_class_balance.py works them out again, in Python and apart from this code. Sums in another order: the last
// digits differ.
TEST(ClassBalance, ChancesAreThoseOfPython) {
  for (const auto& one : testing::load_fixture("class_balance.json").at("cases")) {
    std::vector<SampleClasses> samples;
    for (const auto& row : one.at("pixels")) {
      std::vector<std::pair<int16_t, int64_t>> pixels;
      for (size_t c = 0; c < row.size(); ++c) {
        if (row[c] > 0) pixels.emplace_back(static_cast<int16_t>(c), row[c].get<int64_t>());
      }
      samples.push_back(sample(std::move(pixels)));
    }
    const BalanceConfig balance{
        .strength = one.at("strength"), .temperature = one.at("temperature"), .min_pixels = one.at("min_pixels")};
    const auto num_classes = static_cast<int>(one.at("pixels").at(0).size());
    const std::vector<double> classes = class_chances(samples, num_classes, balance),
                              chances = sample_chances(samples, num_classes, balance);
    for (size_t c = 0; c < classes.size(); ++c) EXPECT_NEAR(classes[c], one.at("classes").at(c).get<double>(), 1e-13);
    for (size_t i = 0; i < chances.size(); ++i) EXPECT_NEAR(chances[i], one.at("samples").at(i).get<double>(), 1e-13);
  }
}

}  // namespace
}  // namespace tessera
