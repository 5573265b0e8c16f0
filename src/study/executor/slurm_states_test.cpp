#include "study/executor/slurm_states.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using State = JobStatus::State;

// What Slurm 22.05 printed of jobs that ended in each way there is on one machine (tests/cluster/slurm.py sets it up); the rest
// is as squeue(1) says.
constexpr const char* kSqueue =
    "4|CANCELLED|Priority|cells-4-1|(null)\n"
    "1|FAILED|NonZeroExitCode|cells-1-1|/tmp/a b|c/jobs\n"
    "3|PENDING|Resources|cells-3-1|(null)\n"
    "2|RUNNING|None|cells-2-1|(null)\n"
    "7|COMPLETED|None|cells-7-1|(null)\n"
    "6|NODE_FAIL|NodeDown|cells-6-1|(null)\n"
    "5|TIMEOUT|TimeLimit|cells-5-1|(null)\n";

TEST(SlurmStates, ReadsWhatSqueuePrints) {
  const std::vector<SlurmJob> jobs = parse_squeue(kSqueue);
  ASSERT_EQ(jobs.size(), 7U);
  EXPECT_EQ(jobs[1].id, "1");
  EXPECT_EQ(jobs[1].name, "cells-1-1");
  EXPECT_EQ(jobs[1].comment, "/tmp/a b|c/jobs");
  EXPECT_EQ(jobs[2].reason, "Resources");
  EXPECT_EQ(jobs[3].reason, "");
}

TEST(SlurmStates, ReadsWhatSacctPrints) {
  const std::vector<SlurmJob> jobs = parse_sacct("12|CANCELLED by 1000|cells-4-1\n13|OUT_OF_MEMORY|a|b\n\n");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].state, "CANCELLED");
  EXPECT_EQ(jobs[0].name, "cells-4-1");
  EXPECT_EQ(jobs[1].name, "a|b");
}

TEST(SlurmStates, LeavesOutWhatIsNoJob) {
  EXPECT_TRUE(parse_squeue("slurm_load_jobs error: Unable to contact slurm controller\n\n12|RUNNING\n").empty());
}

TEST(SlurmStates, EveryStateHasItsMeaning) {
  const auto status = [](const char* state, const char* reason = "") {
    return status_of_slurm({.id = "1", .name = "a", .state = state, .reason = reason, .comment = ""});
  };
  EXPECT_EQ(status("PENDING", "Resources").state, State::kWaiting);
  EXPECT_EQ(status("PENDING", "Resources").reason, "Resources");
  EXPECT_EQ(status("CONFIGURING").state, State::kWaiting);
  for (const char* state : {"RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT"}) EXPECT_EQ(status(state).state, State::kRunning);
  for (const char* state : {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED", "COMPLETED"}) {
    EXPECT_EQ(status(state).state, State::kLost) << state;
    EXPECT_EQ(status(state).reason, state);
  }
  struct Ended {
    const char* state;
    int code;
  };
  for (const Ended& ended :
       {Ended{"FAILED", 1}, {"TIMEOUT", 143}, {"DEADLINE", 143}, {"CANCELLED", 143}, {"OUT_OF_MEMORY", 137}}) {
    EXPECT_EQ(status(ended.state).state, State::kEnded) << ended.state;
    EXPECT_EQ(status(ended.state).exit_code, ended.code) << ended.state;
    EXPECT_EQ(status(ended.state).reason, ended.state);
  }
  EXPECT_EQ(status("SOMETHING_NEW").state, State::kRunning);
  EXPECT_EQ(status("SOMETHING_NEW").reason, "SOMETHING_NEW");
}

TEST(SlurmStates, OverIsWhatSlurmIsDoneWith) {
  for (const SlurmJob& job : parse_squeue(kSqueue)) EXPECT_EQ(is_over(job), job.state != "PENDING" && job.state != "RUNNING");
}

}  // namespace
}  // namespace tessera
