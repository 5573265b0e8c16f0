#include "study/search/earlier_trials.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "study/space/read_space.h"

namespace tessera {
namespace {

const std::vector<Objective> kIou = {{"mean_iou", Direction::kMaximize}};

Trial complete(int64_t number, const Assignment& parameters, std::vector<double> values) {
  return {.number = number, .state = TrialState::kComplete, .parameters = parameters, .values = std::move(values)};
}

TEST(EarlierTrials, ChoicesAreFoundByWhatTheySay) {
  const EarlierStudy study{"old",
                           parse_vary({"name=unet,fcn,pspnet", "lr=log:1e-4:1e-1"}),
                           kIou,
                           {complete(0, {{"name", 0}, {"lr", 0.01}}, {0.5}), complete(1, {{"name", 2}, {"lr", 0.02}}, {0.6}),
                            complete(2, {{"name", 1}, {"lr", 0.01}}, {0.7})}};
  const EarlierTrials found = earlier_trials(study, parse_vary({"name=pspnet,unet", "lr=log:1e-3:1"}), kIou);
  ASSERT_EQ(found.trials.size(), 2U);
  EXPECT_EQ(found.trials[0], complete(-2, {{"name", 1}, {"lr", 0.01}}, {0.5}));
  EXPECT_EQ(found.trials[1], complete(-1, {{"name", 0}, {"lr", 0.02}}, {0.6}));
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(found.notes[0], "1 of 3 trials of the study 'old' are left out: their name is not of this study's space");
}

TEST(EarlierTrials, WhatIsOutsideOrUnfinishedIsLeftOut) {
  Trial running = complete(2, {{"lr", 0.01}}, {});
  running.state = TrialState::kRunning;
  const EarlierStudy study{
      "old",
      parse_vary({"lr=log:1e-4:1e-1", "wd=uniform:0:1"}),
      kIou,
      {complete(0, {{"lr", 0.09}, {"wd", 0}}, {0.5}), complete(1, {{"lr", 0.001}, {"wd", 0}}, {0.6}), running}};
  const EarlierTrials found = earlier_trials(study, parse_vary({"lr=log:1e-4:1e-2"}), kIou);
  ASSERT_EQ(found.trials.size(), 1U);
  EXPECT_EQ(found.trials[0], complete(-1, {{"lr", 0.001}}, {0.6}));
  ASSERT_EQ(found.notes.size(), 2U);
  EXPECT_NE(found.notes[1].find("varied wd too"), std::string::npos);
}

TEST(EarlierTrials, ObjectivesAreFoundByName) {
  const EarlierStudy study{"old",
                           parse_vary({"lr=log:1e-4:1e-1"}),
                           {{"seconds", Direction::kMinimize}, kIou[0]},
                           {complete(0, {{"lr", 0.01}}, {12, 0.5})}};
  EXPECT_EQ(earlier_trials(study, study.space, kIou).trials.at(0).values, (std::vector<double>{0.5}));
  EXPECT_THROW(earlier_trials(study, study.space, {{"mean_iou", Direction::kMinimize}}), UsageError);
  EXPECT_THROW(earlier_trials(study, study.space, {{"mean_f1", Direction::kMaximize}}), UsageError);
}

}  // namespace
}  // namespace tessera
