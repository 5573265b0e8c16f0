#include "apps/study_screen.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

StudyView view() {
  return {
      .name = "cells",
      .unit = "ep",
      .metric = "mean_iou",
      .best_parameters = "optimizer.lr=0.01",
      .counts = {.all = 7, .running = 2, .complete = 4, .failed = 1, .best = 3, .best_value = 0.4375},
      .running =
          {{.number = 5, .parameters = "optimizer.lr=0.02", .step = 2, .until = 3, .done = 0.25, .value = 0.375, .seconds = 65},
           {.number = 6, .parameters = "optimizer.lr=0.03", .waits = true}},
      .trials = 20,
      .seconds = 600,
      .seconds_left = 3000,
      .cost = 1.5,
      .currency = "EUR"};
}

TEST(StudyScreen, ShowsHowFarItIsTheBestAndWhatRuns) {
  const std::vector<std::string> lines = study_lines(view(), 200);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], "study cells  7/20 trials  2 running  4 complete  1 failed  10:00 (50:00 left)  1.50 EUR");
  EXPECT_EQ(lines[1], "best mean_iou 0.4375: trial 3, optimizer.lr=0.01");
  EXPECT_EQ(lines[3], "     5       2/3 ep    25 %      0.3750      1:05  optimizer.lr=0.02");
  EXPECT_EQ(lines[4], "     6     0/end ep     0 %                   0 s  (waits) optimizer.lr=0.03");
}

TEST(StudyScreen, NoLineIsLongerThanTheTerminal) {
  StudyView wide = view();
  wide.running[0].parameters = std::string(300, 'x') + "\n";
  for (const std::string& line : study_lines(wide, 40)) EXPECT_LT(line.size(), 40U);
}

}  // namespace
}  // namespace tessera
