#include "report/report_timeline.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ReportTimeline, CheckpointsAndRepeatedWarningsAreDrawnTogether) {
  RunHistory history;
  history.events = {{.type = "start", .time = 0},
                    {.type = "checkpoint", .step = 1000},
                    {.type = "checkpoint", .step = 2000},
                    {.type = "warning", .step = 2100, .fields = {{"text", "disk <full>"}}},
                    {.type = "warning", .step = 2200, .fields = {{"text", "disk <full>"}}},
                    {.type = "end", .fields = {{"status", "failed"}, {"error", "no space"}}}};
  const std::string html = timeline_list(history);
  EXPECT_TRUE(holds(html, "2 checkpoints"));
  EXPECT_TRUE(holds(html, "steps 1,000 to 2,000"));
  EXPECT_TRUE(holds(html, "disk &lt;full&gt; (2 times)"));
  EXPECT_TRUE(holds(html, "Ended: failed. no space"));
  EXPECT_TRUE(holds(html, "1970-01-01 00:00 UTC"));
}

TEST(ReportTimeline, SupersededEntriesAreMarked) {
  RunHistory history;
  history.events = {{.type = "warning", .step = 9, .superseded = true, .fields = {{"text", "slow"}}}};
  EXPECT_TRUE(holds(timeline_list(history), "class=\"warning superseded\""));
}

TEST(ReportTimeline, NothingHappenedNothingShown) {
  EXPECT_EQ(timeline_list(RunHistory{}), "");
}

TEST(ReportTimeline, KeepsTheNewestOfVeryMany) {
  RunHistory history;
  for (int i = 0; i < 500; ++i) history.events.push_back({.type = "warning", .fields = {{"text", "w" + std::to_string(i)}}});
  const std::string html = timeline_list(history);
  EXPECT_TRUE(holds(html, "300 earlier entries"));
  EXPECT_TRUE(holds(html, "w499<"));
  EXPECT_FALSE(holds(html, "w299<"));
}

}  // namespace
}  // namespace tessera
