#include "study/schedule/make_scheduler.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

SchedulerConfig read(const std::string& text) {
  return read_scheduler(*parse_config("scheduler: " + text + "\n", "study.yaml").find("scheduler"));
}

std::string error_of(const std::string& text, const ScheduleContext& context = {.max_steps = 20, .num_trials = 8}) {
  try {
    make_scheduler(read(text), context);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(MakeScheduler, ReadsTypeAndSettings) {
  const auto asha = std::get<AshaConfig>(read("{type: asha, max: 30, grace: 2, reduction: 3, rule: promote}"));
  EXPECT_EQ(asha.max, 30);
  EXPECT_EQ(asha.grace, 2);
  EXPECT_EQ(asha.reduction, 3);
  EXPECT_EQ(asha.rule, AshaRule::kPromote);
  EXPECT_EQ(std::get<PopulationConfig>(read("{type: pbt, interval: 3, mutate: [a, b]}")).mutate.size(), 2u);
  EXPECT_EQ(std::get<MedianConfig>(read("median")).samples, 3);
}

TEST(MakeScheduler, EveryTypeBegins) {
  for (const char* text : {"none", "asha", "hyperband", "median", "{type: pbt, interval: 5}"}) {
    const auto scheduler = make_scheduler(read(text), {.max_steps = 20, .num_trials = 8});
    EXPECT_EQ(scheduler->decide({.number = 0, .state = TrialState::kRunning}).kind, Decision::Kind::kGoOn) << text;
    EXPECT_FALSE(scheduler->promote()) << text;
  }
}

TEST(MakeScheduler, WithNoneAPausedTrialGoesOn) {
  const auto scheduler = make_scheduler(NoSchedulerConfig{}, {});
  scheduler->observe({.number = 3, .state = TrialState::kPaused});
  EXPECT_EQ(scheduler->promote(), Promotion{.trial = 3});
  scheduler->observe({.number = 3, .state = TrialState::kRunning});
  EXPECT_FALSE(scheduler->promote());
}

TEST(MakeScheduler, ErrorsNameLineAndSetting) {
  EXPECT_TRUE(says(error_of("asah"), "study.yaml:1: scheduler: unknown type 'asah', did you mean 'asha'"));
  EXPECT_TRUE(says(error_of("{type: asha, gracee: 2}"), "did you mean 'grace'"));
  EXPECT_TRUE(says(error_of("{type: asha, reduction: 1}"), "study.yaml:1"));
  EXPECT_TRUE(says(error_of("{type: asha, rule: halve}"), "stop"));
  EXPECT_TRUE(says(error_of("{max: 3}"), "expected one of none, asha"));
  EXPECT_TRUE(says(error_of("{type: asha, grace: 30}"), "grace 30, is not before max 20"));
  EXPECT_TRUE(says(error_of("asha", {}), "say at which step a training ends"));
  EXPECT_TRUE(says(error_of("pbt"), "interval: 5"));
}

}  // namespace
}  // namespace tessera
