#include "report/comparison_page.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

bool holds(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

ComparisonInput two_models() {
  const ComparedValue first{.value = 0.7, .low = 0.68, .high = 0.72};
  const ComparedValue second{.value = 0.73,
                             .low = 0.71,
                             .high = 0.75,
                             .difference = 0.03,
                             .difference_low = 0.01,
                             .difference_high = 0.05,
                             .p = 0.004,
                             .verdict = "better"};
  ComparisonInput input;
  input.models = {"a<b", "tuned"};
  input.facts = {"step 40", "step 80"};
  input.means = {{"mean_iou", {first, second}}};
  input.classes = {{"road", {first, second}}, {"sky", {first, {.value = 0.7}}}};
  input.settings = {{"optimizer.lr", {"0.01", "0.02"}}};
  input.images = 1200;
  return input;
}

TEST(ComparisonPage, SaysWhatDiffersAndHowSurelyItDoes) {
  const std::string page = render_comparison(two_models());
  EXPECT_TRUE(holds(page, "+3.00 points, p = 0.004: better"));
  EXPECT_TRUE(holds(page, "71.00 to 75.00"));
  EXPECT_TRUE(holds(page, "1,200 images"));
  EXPECT_TRUE(holds(page, "optimizer.lr"));
  EXPECT_TRUE(holds(page, "<svg class=\"differences\""));
}

TEST(ComparisonPage, NamesAreText) {
  const std::string page = render_comparison(two_models());
  EXPECT_FALSE(holds(page, "a<b"));
  EXPECT_TRUE(holds(page, "a&lt;b"));
}

TEST(ComparisonPage, WhatIsNotThereIsLeftOut) {
  ComparisonInput input = two_models();
  input.settings.clear();
  input.pictures.clear();
  const std::string page = render_comparison(input);
  EXPECT_FALSE(holds(page, "<section id=\"config\">"));
  EXPECT_FALSE(holds(page, "<section id=\"images\">"));
}

TEST(ComparisonPage, OfVeryManyClassesTheBestAndTheWorstAreDrawn) {
  ComparisonInput input = two_models();
  input.classes.clear();
  for (int c = 0; c < 150; ++c) {
    ComparedValue value = two_models().means[0].models[1];
    value.difference = 0.001 * (c - 75);
    input.classes.push_back({"class " + std::to_string(c), {{.value = 0.7}, value}});
  }
  const std::string page = render_comparison(input);
  const std::string drawing =
      page.substr(page.find("<svg class=\"differences\""), page.find("</svg>") - page.find("<svg class=\"differences\""));
  EXPECT_TRUE(holds(drawing, ">class 149<"));
  EXPECT_TRUE(holds(drawing, ">class 0<"));
  EXPECT_FALSE(holds(drawing, ">class 75<"));
}

}  // namespace
}  // namespace tessera
