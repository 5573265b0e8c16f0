#include "launch/control/supervisor.h"

#include <gtest/gtest.h>

#include <csignal>

#include "core/error.h"

namespace tessera {
namespace {

constexpr int kNodes = 2, kRanks = 2;  // on each node

RankReport alive(int rank) {
  RankReport report;
  report.rank = rank;
  report.host = "h" + std::to_string(rank / kRanks);
  report.speaks = true;
  report.busy = true;
  return report;
}

RankReport ended(int rank, int exit_code, int killed_by = 0) {
  RankReport report = alive(rank);
  report.ended = true;
  report.exit_code = exit_code;
  report.killed_by = killed_by;
  return report;
}

// Two nodes of two ranks, and a clock in our hands.
class SupervisorTest : public ::testing::Test {
 protected:
  void begin(LaunchOptions options = {}) {
    options.start_timeout_s = 60;
    LaunchLayout layout;
    layout.num_nodes = kNodes;
    layout.world_size = kNodes * kRanks;
    supervisor_.emplace(options, layout, [] { return 4711; });
  }

  void join_all() {
    for (int node = 0; node < kNodes; ++node) supervisor_->node_joined(node, "h" + std::to_string(node), kRanks, now_);
  }

  // What the nodes say now; then the world thinks. Returns what it tells node 0.
  std::vector<Directive> step(int generation, const std::vector<RankReport>& reports, double seconds = 0.5) {
    now_ += seconds;
    for (int node = 0; node < kNodes; ++node) {
      const auto begin = reports.begin() + node * kRanks;
      if (node < silent_from_) supervisor_->ranks_reported(node, generation, {begin, begin + kRanks}, now_);
    }
    supervisor_->tick(now_);
    return told(0);
  }

  std::vector<Directive> told(int node) {
    std::vector<Directive> found;
    for (const auto& [to, directive] : supervisor_->take_directives()) {
      if (to == node) found.push_back(directive);
    }
    return found;
  }

  static std::vector<RankReport> all_alive() { return {alive(0), alive(1), alive(2), alive(3)}; }
  static std::vector<RankReport> all_killed() {
    std::vector<RankReport> reports;
    for (int rank = 0; rank < 4; ++rank) {
      reports.push_back(ended(rank, 0, SIGKILL));
      reports.back().killed_by_us = true;
    }
    return reports;
  }

  double now_ = 100;
  int silent_from_ = kNodes;
  std::optional<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, StartsWhenAllNodesHaveCome) {
  begin();
  supervisor_->node_joined(0, "h0", kRanks, now_);
  supervisor_->tick(now_);
  EXPECT_TRUE(told(0).empty());
  supervisor_->node_joined(1, "h1", kRanks, now_);
  supervisor_->tick(now_);
  const auto directives = supervisor_->take_directives();
  ASSERT_EQ(directives.size(), 2U);
  EXPECT_EQ(directives[1].first, 1);
  EXPECT_EQ(directives[1].second.kind, Directive::Kind::kStart);
  EXPECT_EQ(directives[1].second.first_rank, 2);
  EXPECT_EQ(directives[1].second.world_size, 4);
  EXPECT_EQ(directives[1].second.store_port, 4711);
}

// A count that is none must not look like a world whose ranks have all ended.
TEST_F(SupervisorTest, ANodeWithoutRanksIsNoNode) {
  begin();
  for (const int ranks : {-5, 0, kMostRanksPerNode + 1, 2147483647})
    EXPECT_THROW(supervisor_->node_joined(1, "h1", ranks, now_), Error) << ranks;
  EXPECT_FALSE(supervisor_->has_joined(1));
}

TEST_F(SupervisorTest, NodesReportTheirOwnRanksAlone) {
  begin();
  join_all();
  supervisor_->tick(now_);
  const std::vector<std::vector<RankReport>> wrong = {{ended(0, 0), ended(1, 0)},               // those of node 0
                                                      {ended(2, 0), ended(2, 0)},               // one of them twice
                                                      {ended(2, 0)},                            // one is missing
                                                      {ended(2, 0), ended(3, 0), ended(4, 0)},  // one too many
                                                      {}};
  for (const auto& reports : wrong) EXPECT_THROW(supervisor_->ranks_reported(1, 0, reports, now_), Error);
  supervisor_->ranks_reported(0, 0, {ended(0, 0), ended(1, 0)}, now_);
  supervisor_->tick(now_);
  EXPECT_FALSE(supervisor_->over());
  supervisor_->ranks_reported(1, 0, {ended(2, 0), ended(3, 0)}, now_);
  supervisor_->tick(now_);
  EXPECT_TRUE(supervisor_->over());
}

TEST_F(SupervisorTest, NamesNodesThatNeverCame) {
  begin();
  supervisor_->node_joined(0, "h0", kRanks, now_);
  for (int i = 0; i < 70; ++i) {
    supervisor_->ranks_reported(0, -1, {}, ++now_);
    supervisor_->tick(now_);
  }
  EXPECT_TRUE(supervisor_->over());
  const auto directives = told(0);
  EXPECT_EQ(directives.back().exit_code, 1);
  EXPECT_NE(directives.back().text.find("node rank 1"), std::string::npos) << directives.back().text;
}

TEST_F(SupervisorTest, EndsWithTheCodeOfTheRanks) {
  begin();
  join_all();
  step(0, all_alive());
  step(0, {ended(0, 0), ended(1, 0), ended(2, 0), alive(3)});
  EXPECT_FALSE(supervisor_->over());
  const auto last = step(0, {ended(0, 0), ended(1, 0), ended(2, 0), ended(3, 0)});
  EXPECT_TRUE(supervisor_->over());
  EXPECT_EQ(last.back().exit_code, 0);
}

TEST_F(SupervisorTest, OneDeadRankEndsAllAndIsNamed) {
  begin();
  join_all();
  step(0, all_alive());
  auto reports = all_alive();
  reports[2] = ended(2, 0, SIGKILL);
  reports[2].step = 12;
  step(0, reports);
  const auto kill = step(0, reports, 1.5);
  ASSERT_EQ(kill.size(), 1U);
  EXPECT_EQ(kill[0].kind, Directive::Kind::kKill);
  auto rest = all_killed();
  rest[2] = reports[2];
  const auto last = step(0, rest);
  ASSERT_TRUE(supervisor_->over());
  EXPECT_EQ(last.back().exit_code, 128 + SIGKILL);
  EXPECT_NE(last.back().text.find("rank 2 on h1"), std::string::npos) << last.back().text;
  EXPECT_NE(last.back().text.find("step 12"), std::string::npos) << last.back().text;
}

TEST_F(SupervisorTest, RestartsAsOftenAsAllowed) {
  LaunchOptions options;
  options.restarts = 1;
  begin(options);
  join_all();
  step(0, all_alive());
  auto failed = all_killed();
  failed[1] = ended(1, 1);
  step(0, failed);
  const auto again = step(0, failed);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].kind, Directive::Kind::kStart);
  EXPECT_EQ(again[0].generation, 1);
  step(0, failed);  // what a node still had to say about the last generation
  EXPECT_FALSE(supervisor_->over());
  step(1, failed);
  step(1, failed);
  EXPECT_TRUE(supervisor_->over());
}

TEST_F(SupervisorTest, BadUsageIsNotTriedAgain) {
  LaunchOptions options;
  options.restarts = 5;
  begin(options);
  join_all();
  step(0, all_alive());
  auto failed = all_killed();
  failed[0] = ended(0, 2);
  step(0, failed);
  EXPECT_EQ(step(0, failed).back().exit_code, 2);
  EXPECT_TRUE(supervisor_->over());
}

TEST_F(SupervisorTest, GoesOnWithoutALostNodeIfEnoughRanksAreLeft) {
  for (const int min_ranks : {0, 2}) {
    LaunchOptions options;
    options.restarts = 1;
    options.min_ranks = min_ranks;
    begin(options);
    join_all();
    step(0, all_alive());
    supervisor_->node_lost(1, "gone");
    const auto last = step(0, all_killed());
    if (min_ranks == 0) {
      EXPECT_TRUE(supervisor_->over());
      continue;
    }
    ASSERT_EQ(last.back().kind, Directive::Kind::kStart);
    EXPECT_EQ(last.back().world_size, 2);
    EXPECT_EQ(last.back().num_nodes, 1);
  }
}

TEST_F(SupervisorTest, ASilentNodeIsLost) {
  begin();
  join_all();
  step(0, all_alive());
  silent_from_ = 1;
  for (int i = 0; i < 30; ++i) step(0, all_alive());
  const auto last = step(0, all_killed());
  EXPECT_TRUE(supervisor_->over());
  EXPECT_NE(last.back().text.find("node 1 on h1 is lost"), std::string::npos);
}

TEST_F(SupervisorTest, AStopReachesAllAndIsNoFault) {
  LaunchOptions options;
  options.restarts = 3;
  begin(options);
  join_all();
  step(0, all_alive());
  supervisor_->stop_asked(SIGTERM);
  const auto told_now = told(1);
  ASSERT_EQ(told_now.size(), 1U);
  EXPECT_EQ(told_now[0].kind, Directive::Kind::kSignal);
  EXPECT_EQ(told_now[0].signal, SIGTERM);
  const auto last = step(0, {ended(0, 143), ended(1, 143), ended(2, 143), ended(3, 143)});
  ASSERT_TRUE(supervisor_->over());
  EXPECT_EQ(last.back().exit_code, 143);
  EXPECT_EQ(last.back().text, "");
}

TEST_F(SupervisorTest, ASecondStopKills) {
  begin();
  join_all();
  step(0, all_alive());
  supervisor_->stop_asked(SIGINT);
  supervisor_->stop_asked(SIGINT);
  EXPECT_EQ(step(0, all_alive()).back().kind, Directive::Kind::kKill);
  EXPECT_EQ(step(0, all_killed()).back().exit_code, 130);
}

TEST_F(SupervisorTest, AHangIsToldWithTheTableOfAllRanks) {
  LaunchOptions options;
  options.hang_timeout_s = 5;
  begin(options);
  join_all();
  auto reports = all_alive();
  for (RankReport& report : reports) {
    report.busy = false;
    report.waiting = report.rank != 3;
    report.collective = report.rank == 3 ? 8 : 9;
  }
  for (int i = 0; i < 9; ++i) {
    for (RankReport& report : reports) report.unchanged_s += 0.5;
    EXPECT_TRUE(step(0, reports).empty() || i == 0);
  }
  for (int i = 0; i < 4; ++i) step(0, reports);
  const auto last = step(0, all_killed());
  ASSERT_TRUE(supervisor_->over());
  EXPECT_NE(last.back().text.find("the others wait for rank 3 on h1"), std::string::npos) << last.back().text;
}

}  // namespace
}  // namespace tessera
