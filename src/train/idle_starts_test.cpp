#include "train/idle_starts.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

constexpr const char *kStart = R"({"type": "start"})", *kTrain = R"({"type": "train", "step": 2})",
                     *kEval = R"({"type": "eval", "step": 2})", *kResume = R"({"type": "resume", "step": 2})",
                     *kEnd0 = R"({"type": "end", "status": "out of time", "step": 0})",
                     *kEnd2 = R"({"type": "end", "status": "out of time", "step": 2})",
                     *kStopped2 = R"({"type": "end", "status": "stopped", "step": 2})",
                     *kFailed2 = R"({"type": "end", "status": "failed", "step": 2})";

bool idle_after(const std::vector<const char*>& lines) {
  const testing::TempFolder folder;
  std::string text;
  for (const char* line : lines) text += std::string(line) + "\n";
  write_file(folder / "log.jsonl", text);
  return last_start_was_idle(folder / "log.jsonl");
}

TEST(IdleStarts, AStartWithoutAStepOrAnEvaluationThatItsTimeEnded) {
  EXPECT_TRUE(idle_after({kStart, kEnd0}));
  EXPECT_TRUE(idle_after({kStart, kTrain, kEnd2, kResume, kEnd2}));
  EXPECT_TRUE(idle_after({kStart, kTrain, kEval, kEnd2, kResume, kStopped2}));
}

TEST(IdleStarts, OneThatDidSomethingOrEndedOtherwise) {
  EXPECT_FALSE(last_start_was_idle("/nowhere/log.jsonl"));
  EXPECT_FALSE(idle_after({}));
  EXPECT_FALSE(idle_after({kStart, kTrain, kEnd2}));
  EXPECT_FALSE(idle_after({kStart, kTrain, kEnd2, kResume, kEval, kEnd2}));
  EXPECT_FALSE(idle_after({kStart, kTrain, kEnd2, kResume, kFailed2}));
  EXPECT_FALSE(idle_after({kStart, kEnd0, kResume}));                 // killed
  EXPECT_FALSE(idle_after({kStart, kEnd0, kResume, "{\"type\": "}));  // as it wrote
}

}  // namespace
}  // namespace tessera
