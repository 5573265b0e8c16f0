#include "study/executor/local_executor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "study/executor/job_files.h"
#include "study/executor/local_process.h"

namespace tessera {
namespace {

using State = JobStatus::State;

// Jobs are shell commands here: the "program" is sh -c.
class LocalExecutorTest : public ::testing::Test {
 protected:
  LocalExecutorTest() : folder_(fs::temp_directory_path() / fmt::format("local_executor_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~LocalExecutorTest() override { fs::remove_all(folder_); }

  Job job(const std::string& name, const std::string& command) const {
    return {.name = name, .arguments = {command}, .folder = folder_ / name};
  }
  static LocalExecutor executor() { return LocalExecutor({"/bin/sh", "-c"}); }

  // Once it no longer runs; the jobs here end by themselves within seconds.
  static JobStatus end_of(LocalExecutor& executor, const Job& job) {
    JobStatus status = executor.poll(job);
    for (int i = 0; i < 3000 && status.state == State::kRunning; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      status = executor.poll(job);
    }
    return status;
  }
  static void wait_for(const fs::path& file) {
    for (int i = 0; i < 3000 && !fs::exists(file); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(fs::exists(file)) << file;
  }
  std::string output(const Job& job) const { return read_text(job.folder / kJobOutput); }

  fs::path folder_;
};

TEST_F(LocalExecutorTest, AJobLeavesItsOutputAndItsExitCode) {
  LocalExecutor local = executor();
  const Job good = job("good", "echo one; echo two >&2"), bad = job("bad", "echo no such luck; exit 3");
  EXPECT_EQ(local.poll(good).state, State::kUnknown);
  local.start(good);
  local.start(bad);
  const JobStatus first = end_of(local, good), second = end_of(local, bad);
  EXPECT_EQ(first.state, State::kEnded);
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_EQ(first.reason, "");
  EXPECT_EQ(output(good), "one\ntwo\n");
  EXPECT_EQ(second.state, State::kEnded);
  EXPECT_EQ(second.exit_code, 3);
  EXPECT_EQ(second.reason, "no such luck");
}

TEST_F(LocalExecutorTest, WordsReachTheProgramAsTheyAre) {
  LocalExecutor local({"/usr/bin/printf", "%s|"});
  Job words = job("words", "it's");
  words.arguments = {"it's", "a \"b\" $HOME `x` \\", "", "*"};
  local.start(words);
  EXPECT_EQ(end_of(local, words).exit_code, 0);
  EXPECT_EQ(output(words), "it's|a \"b\" $HOME `x` \\||*|");
}

TEST_F(LocalExecutorTest, NoJobIsStartedTwiceByWhomever) {
  const Job once = job("once", "echo started");
  LocalExecutor local = executor(), other = executor();
  local.start(once);
  local.start(once);
  other.start(once);
  EXPECT_EQ(end_of(other, once).state, State::kEnded);
  other.start(once);
  EXPECT_EQ(end_of(other, once).state, State::kEnded);
  EXPECT_EQ(output(once), "started\n");
}

TEST_F(LocalExecutorTest, AJobOutlivesItsControllerAndIsFoundAgain) {
  const fs::path go = folder_ / "go";
  const Job lasting = job("lasting", fmt::format("while [ ! -e {} ]; do sleep 0.02; done; exit 7", go.string()));
  const pid_t controller = fork();
  if (controller == 0) {
    LocalExecutor local = executor();
    local.start(lasting);
    kill(getpid(), SIGKILL);
  }
  int how = 0;
  waitpid(controller, &how, 0);
  ASSERT_TRUE(WIFSIGNALED(how));
  LocalExecutor later = executor();
  EXPECT_EQ(later.poll(lasting).state, State::kRunning);
  write_file(go, std::string_view("x"));
  const JobStatus end = end_of(later, lasting);
  EXPECT_EQ(end.state, State::kEnded);
  EXPECT_EQ(end.exit_code, 7);
}

TEST_F(LocalExecutorTest, StoppedJobsMaySaveFirst) {
  LocalExecutor local = executor();
  const Job saves = job("saves", "trap 'echo saved; exit 143' TERM; touch ../saves_up; while :; do sleep 0.02; done");
  const Job plain = job("plain", "touch ../plain_up; exec sleep 30");
  for (Job j : {saves, plain}) {
    j.arguments[0] = fmt::format("cd {}; {}", (folder_ / j.name).string(), j.arguments[0]);
    local.start(j);
    wait_for(folder_ / (j.name + "_up"));
    local.stop(j);
    const JobStatus end = end_of(local, j);
    EXPECT_EQ(end.state, State::kEnded) << j.name;
    EXPECT_EQ(end.exit_code, 143) << j.name;
    local.stop(j);
  }
  EXPECT_NE(output(saves).find("saved"), std::string::npos);
}

TEST_F(LocalExecutorTest, WhatIsKilledAltogetherIsLost) {
  LocalExecutor local = executor();
  const Job lost = job("lost", "echo on the way; exec sleep 30");
  local.start(lost);
  const auto process = read_local_process(lost.folder);
  ASSERT_TRUE(process && process->pid > 0);
  for (int i = 0; i < 3000 && last_output(lost.folder).empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(-process->pid, SIGKILL);
  const JobStatus end = end_of(local, lost);
  EXPECT_EQ(end.state, State::kLost);
  EXPECT_EQ(end.reason, "on the way");
}

TEST_F(LocalExecutorTest, AJobWhoseShellWasKilledRunsUntilItsProgramEnds) {
  LocalExecutor local = executor();
  const fs::path go = folder_ / "go", up = folder_ / "up";
  const Job headless =
      job("headless", fmt::format("touch {}; while [ ! -e {} ]; do sleep 0.02; done", up.string(), go.string()));
  local.start(headless);
  wait_for(up);
  kill(read_local_process(headless.folder)->pid, SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(local.poll(headless).state, State::kRunning);
  write_file(go, std::string_view("x"));
  EXPECT_EQ(end_of(local, headless).state, State::kLost);
}

TEST_F(LocalExecutorTest, ANumberThatWasGivenAnewIsNotTakenForTheJob) {
  const Job old = job("old", "true");
  fs::create_directories(old.folder);
  // A file without a lock, as a machine that was started anew leaves it: its number is ours by chance.
  write_file(old.folder / "process",
             fmt::format("host here\nboot {}\ncpus \n{} (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n", boot_id(),
                         ::getpid()));
  LocalExecutor local = executor();
  const auto process = read_local_process(old.folder);
  EXPECT_EQ(process->pid, ::getpid());
  EXPECT_EQ(process->start, "12345");
  EXPECT_EQ(local.poll(old).state, State::kLost);
  local.stop(old);  // we are still here
  local.start(old);
  EXPECT_EQ(local.poll(old).state, State::kLost);
}

TEST_F(LocalExecutorTest, RanksAndGpusAreWhatTheJobAsksFor) {
  LocalExecutor local({"/bin/sh", "-c", "echo \"$CUDA_VISIBLE_DEVICES: $*\"", "sh"});
  Job two = job("two", "");
  two.arguments = {"train", "x.yaml"};
  two.ranks = 2;
  two.gpus = {1, 3};
  Job threads = two;
  threads.name = "threads";
  threads.folder = folder_ / "threads";
  threads.arguments = {"train", "x.yaml", "-p", "dp"};
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  local.start(two);
  ::setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7", 1);  // GPUs are counted among those
  local.start(threads);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  end_of(local, two);
  end_of(local, threads);
  EXPECT_EQ(output(two), "1,3: train x.yaml -p ddp --ranks 2\n");
  EXPECT_EQ(output(threads), "5,7: train x.yaml -p dp --ranks 2\n");
}

TEST_F(LocalExecutorTest, JobsGetCoresOfTheirOwnAlsoBesideThoseOfAnEarlierController) {
  const std::vector<Core> cores = allowed_cores();
  if (cores.size() < 2) GTEST_SKIP() << "needs two cores";
  const std::string command = fmt::format("while [ ! -e {} ]; do sleep 0.02; done", (folder_ / "go").string());
  Job first = job("first", command), second = job("second", command), third = job("third", command);
  LocalExecutor earlier = executor(), local = executor();
  EXPECT_EQ(*local.most_at_once(first), std::max<int>(1, *local.most_at_once(first)));
  first.cores = 1;
  second.cores = third.cores = static_cast<int>(cores.size()) - 1;
  earlier.start(first);
  EXPECT_EQ(local.poll(first).state, State::kRunning);
  local.start(second);
  local.start(third);  // nothing is left: it runs anywhere
  EXPECT_EQ(read_local_process(first.folder)->cpus, cores[0]);
  const std::vector<int> others = read_local_process(second.folder)->cpus;
  EXPECT_FALSE(others.empty());
  EXPECT_EQ(std::count(others.begin(), others.end(), cores[0][0]), 0);
  EXPECT_TRUE(read_local_process(third.folder)->cpus.empty());
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(read_local_process(first.folder)->pid, sizeof(allowed), &allowed), 0);
  EXPECT_EQ(CPU_COUNT(&allowed), static_cast<int>(cores[0].size()));
  write_file(folder_ / "go", std::string_view("x"));
  for (const Job& j : {first, second, third}) end_of(local, j);
}

TEST_F(LocalExecutorTest, WhatCannotBeStartedSaysSoAndIsNotStarted) {
  Job nowhere = job("nowhere", "true");
  nowhere.folder = "/proc/self/nowhere";
  LocalExecutor local = executor();
  EXPECT_THROW(local.start(nowhere), Error);
  EXPECT_EQ(local.poll(nowhere).state, State::kUnknown);
}

}  // namespace
}  // namespace tessera
