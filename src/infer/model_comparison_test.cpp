#include "infer/model_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

// 100 pixels of two classes, `found` of the first's 50 found.
ImageScore image(const std::string& id, int64_t found, int64_t index = 0) {
  return {index, id, static_cast<double>(found) / 50, {{0, {found, 0, 50 - found, 50}}, {1, {50, 50 - found, 0, found}}}};
}

EvaluatedImages evaluated(std::vector<ImageScore> images) {
  return {.classes = {"sky", "road"}, .images = std::move(images)};
}

double value_of(const ModelComparison& comparison, const std::vector<double>& values, const std::string& metric) {
  const auto at = std::find(comparison.metrics.begin(), comparison.metrics.end(), metric);
  return at == comparison.metrics.end() ? std::nan("") : values.at(static_cast<size_t>(at - comparison.metrics.begin()));
}

constexpr Resampling kHow{.rounds = 200};

TEST(ModelComparison, MeasuresOnTheImagesThatAllHave) {
  const ModelComparison comparison =
      compare_models({{"a", evaluated({image("x", 40, 0), image("y", 30, 1), image("only a", 0, 2)})},
                      {"b", evaluated({image("y", 35, 0), image("x", 45, 1)})}},
                     kHow);
  EXPECT_EQ(comparison.images.size(), 2U);
  EXPECT_EQ(comparison.left_out, 1);
  EXPECT_DOUBLE_EQ(value_of(comparison, comparison.models[0].values, "pixel_accuracy"), 170.0 / 200);
  EXPECT_DOUBLE_EQ(value_of(comparison, comparison.models[1].values, "recall/sky"), 80.0 / 100);
  EXPECT_TRUE(comparison.models[0].differences.empty());
  const auto& images = comparison.images;
  const auto x = std::find_if(images.begin(), images.end(), [](const auto& one) { return one.id == "x"; });
  EXPECT_EQ(x->index, (std::vector<int64_t>{0, 1}));
}

TEST(ModelComparison, ImagesThatDifferMostComeFirst) {
  const ModelComparison comparison = compare_models({{"a", evaluated({image("x", 40), image("y", 30), image("z", 20)})},
                                                     {"b", evaluated({image("x", 41), image("y", 10), image("z", 25)})}},
                                                    kHow);
  EXPECT_EQ(comparison.images[0].id, "y");
  EXPECT_EQ(comparison.images[1].id, "z");
  EXPECT_DOUBLE_EQ(comparison.images[0].spread(), 0.4);
}

TEST(ModelComparison, AnIdThatComesTwiceIsTwoImages) {
  const EvaluatedImages twice = evaluated({image("x", 40), image("x", 20)});
  EXPECT_EQ(compare_models({{"a", twice}, {"b", twice}}, kHow).images.size(), 2U);
}

TEST(ModelComparison, WhatCannotBeComparedIsSaid) {
  const EvaluatedImages one = evaluated({image("x", 40)});
  EvaluatedImages renamed = one;
  renamed.classes[1] = "river";
  EXPECT_THROW(compare_models({{"a", one}}, kHow), UsageError);
  EXPECT_THROW(compare_models({{"a", one}, {"b", renamed}}, kHow), UsageError);
  EXPECT_THROW(compare_models({{"a", one}, {"b", evaluated({image("y", 40)})}}, kHow), UsageError);
}

// One class is better on every image, five are noise that is equal in both: the one is called better all the same.
TEST(ModelComparison, VerdictsOfClassesAreOfAllOfThemTogether) {
  std::vector<ImageScore> first, second;
  for (int i = 0; i < 20; ++i) {
    ImageScore a{i, "image " + std::to_string(i), 0.5, {}}, b = a;
    for (int c = 0; c < 6; ++c) {
      const int64_t found = 20 + (7 * i + 3 * c) % 11;
      a.counts.push_back({c, {found, 5, 50 - found, 0}});
      b.counts.push_back({c, {c == 2 ? found + 5 : found, 5, c == 2 ? 45 - found : 50 - found, 0}});
    }
    first.push_back(a);
    second.push_back(b);
  }
  const std::vector<std::string> classes = {"0", "1", "2", "3", "4", "5"};
  const ModelComparison comparison = compare_models(
      {{"a", {.classes = classes, .images = first}}, {"b", {.classes = classes, .images = second}}}, {.rounds = 1000});
  const ComparedModel& b = comparison.models[1];
  EXPECT_LT(value_of(comparison, b.p, "iou/2"), kSignificant);
  EXPECT_EQ(value_of(comparison, b.p, "iou/3"), 1);
  EXPECT_EQ(verdict(0.1, 0.01), "better");
  EXPECT_EQ(verdict(-0.1, 0.01), "worse");
  EXPECT_EQ(verdict(0.1, 0.2), "not told apart");
}

}  // namespace
}  // namespace tessera
