#include "launch/node/blame.h"

#include <gtest/gtest.h>

#include <csignal>

namespace tessera {
namespace {

RankReport waiting(int rank, int64_t collective) {
  RankReport report;
  report.rank = rank;
  report.host = "h";
  report.speaks = report.waiting = true;
  report.collective = collective;
  return report;
}

RankReport failed(int rank, double seconds_ago, int exit_code, int killed_by = 0) {
  RankReport report = waiting(rank, 1);
  report.ended = true;
  report.ended_s = report.unchanged_s = seconds_ago;
  report.exit_code = exit_code;
  report.killed_by = killed_by;
  return report;
}

TEST(Blame, NobodyFailed) {
  EXPECT_FALSE(first_failure({waiting(0, 1), failed(1, 1, 0), failed(2, 1, 143)}));
}

TEST(Blame, TheEarliestErrorIsTheCause) {
  EXPECT_EQ(first_failure({failed(0, 0.2, 1), failed(1, 0.9, 1), failed(2, 0.3, 1)})->rank, 1);
}

TEST(Blame, AKillIsTheCauseOfErrors) {
  EXPECT_EQ(first_failure({failed(0, 0.5, 1), failed(1, 0.5, 0, SIGKILL), failed(2, 0.6, 1)})->rank, 1);
}

TEST(Blame, OurOwnKillsAreNoCause) {
  RankReport ours = failed(0, 2, 0, SIGKILL);
  ours.killed_by_us = true;
  EXPECT_EQ(first_failure({ours, failed(1, 1, 1)})->rank, 1);
}

TEST(Blame, AStoppedProcessHoldsTheOthers) {
  std::vector<RankReport> reports = {waiting(0, 5), waiting(1, 5), waiting(2, 5)};
  reports[1].state = 'T';
  EXPECT_EQ(blame_for_hang(reports).rank, 1);
}

TEST(Blame, WhoDoesNotWaitIsWaitedFor) {
  std::vector<RankReport> reports = {waiting(0, 5), waiting(1, 5), waiting(2, 5)};
  reports[2].waiting = false;
  reports[2].phase = RankPhase::kLoading;
  reports[2].sample = 77;
  const Blame blame = blame_for_hang(reports);
  EXPECT_EQ(blame.rank, 2);
  EXPECT_NE(blame.text.find("loading data, sample 77"), std::string::npos) << blame.text;
}

TEST(Blame, TheLowestCollectiveIsBehind) {
  EXPECT_EQ(blame_for_hang({waiting(0, 5), waiting(1, 4), waiting(2, 5)}).rank, 1);
}

TEST(Blame, WhenAllWaitAlikeNobodyIsNamed) {
  EXPECT_FALSE(blame_for_hang({waiting(0, 5), waiting(1, 5)}).rank);
}

TEST(Blame, ARankThatEndedEarlyIsNamed) {
  EXPECT_EQ(blame_for_hang({waiting(0, 5), failed(1, 3, 0)}).rank, 1);
}

TEST(Blame, TheTableShowsEveryRank) {
  std::vector<RankReport> reports = {waiting(0, 5), failed(1, 3, 0, SIGKILL)};
  reports[0].step = 41;
  const std::string table = status_table(reports);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
  EXPECT_NE(table.find("41"), std::string::npos);
  EXPECT_NE(table.find("signal 9 (KILL)"), std::string::npos);
}

TEST(RankReport, SurvivesTheWire) {
  RankReport report = failed(3, 2, 7, 9);
  report.error = "disk full";
  report.sample = 12;
  const RankReport back = nlohmann::json::parse(nlohmann::json(report).dump()).get<RankReport>();
  EXPECT_EQ(nlohmann::json(back), nlohmann::json(report));
}

}  // namespace
}  // namespace tessera
