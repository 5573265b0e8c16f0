#include "study/executor/worker_pool.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "core/files.h"
#include "study/executor/job_files.h"
#include "study/executor/local_executor.h"

namespace tessera {
namespace {

using State = JobStatus::State;

// Jobs are shell commands, of which each says in its output what its worker is: the shell's parent.
class WorkerPoolTest : public ::testing::Test {
 public:
  ~WorkerPoolTest() override { fs::remove_all(folder_); }

 protected:
  WorkerPoolTest() : folder_(fs::temp_directory_path() / fmt::format("worker_pool_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  Job job(const std::string& name, const std::string& command) const {
    return {.name = name,
            .arguments = {fmt::format("cd {}; echo $PPID; {}", folder_.string(), command)},
            .folder = folder_ / name,
            .may_follow = true};
  }
  static LocalExecutor executor() {
    const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path();
    return LocalExecutor({"/bin/sh", "-c"}, {(beside / "shell_worker").string()});
  }
  static std::string until(const std::string& file) { return fmt::format("while [ ! -e {} ]; do sleep 0.02; done", file); }

  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }
  static JobStatus end_of(LocalExecutor& executor, const Job& job) {
    JobStatus status = executor.poll(job);
    for (int i = 0; i < 3000 && status.state == State::kRunning; ++i, status = executor.poll(job)) pause();
    return status;
  }
  JobStatus run(LocalExecutor& executor, const Job& job) const {
    executor.start(job);
    return end_of(executor, job);
  }
  void make(const std::string& file) const { write_file(folder_ / file, std::string_view("x")); }
  void wait_for(const std::string& file) const {
    for (int i = 0; i < 3000 && !fs::exists(folder_ / file); ++i) pause();
    ASSERT_TRUE(fs::exists(folder_ / file)) << file;
  }
  static std::string output(const Job& job) { return read_text(job.folder / kJobOutput); }
  static pid_t worker_of(const Job& job) { return std::stoi(output(job)); }
  static bool is_gone(pid_t pid) {
    for (int i = 0; i < 3000 && kill(pid, 0) == 0; ++i) {
      waitpid(pid, nullptr, WNOHANG);
      pause();
    }
    return kill(pid, 0) != 0;
  }

  fs::path folder_;
};

TEST_F(WorkerPoolTest, OneProcessRunsJobsOneAfterAnotherEachWithItsOwnFiles) {
  LocalExecutor local = executor();
  std::vector<Job> jobs;
  for (const char* name : {"one", "two", "three"}) jobs.push_back(job(name, fmt::format("echo {} >&2", name)));
  for (const Job& j : jobs) {
    const JobStatus end = run(local, j);
    EXPECT_EQ(end.state, State::kEnded);
    EXPECT_EQ(end.exit_code, 0);
  }
  for (const Job& j : jobs) {
    const auto process = read_local_process(j.folder);
    ASSERT_TRUE(process);
    EXPECT_EQ(process->pid, worker_of(jobs[0]));
    EXPECT_EQ(output(j), fmt::format("{}\n{}\n", process->pid, j.name));
    EXPECT_NE(read_text(j.folder / kJobScript).find("echo " + j.name), std::string::npos);
  }
  local.start(jobs[1]);
  EXPECT_EQ(local.poll(jobs[1]).state, State::kEnded);  // none is started twice
}

TEST_F(WorkerPoolTest, WorkersEndWithTheirController) {
  pid_t worker = 0;
  {
    LocalExecutor local = executor();
    const Job j = job("only", "true");
    run(local, j);
    worker = worker_of(j);
    EXPECT_EQ(kill(worker, 0), 0);
  }
  EXPECT_TRUE(is_gone(worker));
}

TEST_F(WorkerPoolTest, NothingRunsInAProcessInWhichSomethingWentWrong) {
  LocalExecutor local = executor();
  const Job good = job("good", "true"), bad = job("bad", "echo no such luck; exit 3"), next = job("next", "true");
  run(local, good);
  const JobStatus end = run(local, bad);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_NE(end.reason.find("no such luck"), std::string::npos);
  EXPECT_EQ(run(local, next).exit_code, 0);
  EXPECT_EQ(worker_of(good), worker_of(bad));
  EXPECT_NE(worker_of(next), worker_of(bad));
  EXPECT_TRUE(is_gone(worker_of(bad)));
}

TEST_F(WorkerPoolTest, AWorkerThatIsKilledHarmsItsOwnJobAlone) {
  LocalExecutor local = executor();
  const Job first = job("first", "true"), killed = job("killed", "kill -9 $PPID; sleep 30 & wait"),
            beside = job("beside", until("go"));
  run(local, first);
  local.start(beside);
  EXPECT_EQ(local.poll(beside).state, State::kRunning);
  local.start(killed);
  for (int i = 0; i < 3000 && output(killed).empty(); ++i) pause();
  kill(-worker_of(killed), SIGKILL);  // its shell
  const JobStatus end = end_of(local, killed);
  EXPECT_EQ(end.state, State::kEnded);
  EXPECT_EQ(end.exit_code, 128 + SIGKILL);
  EXPECT_EQ(local.poll(beside).state, State::kRunning);
  make("go");
  EXPECT_EQ(end_of(local, beside).exit_code, 0);
  EXPECT_EQ(run(local, job("after", "true")).exit_code, 0);
}

TEST_F(WorkerPoolTest, AnIdleWorkerThatWasKilledIsReplaced) {
  LocalExecutor local = executor();
  const Job first = job("first", "true"), second = job("second", "true");
  run(local, first);
  kill(worker_of(first), SIGKILL);
  EXPECT_TRUE(is_gone(worker_of(first)));
  const JobStatus end = run(local, second);
  EXPECT_EQ(end.state, State::kEnded);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(read_local_process(second.folder)->pid, worker_of(second));
}

TEST_F(WorkerPoolTest, AJobOutlivesItsControllerAndIsFoundAgain) {
  const Job before = job("before", "true"), lasting = job("lasting", until("go") + "; exit 7"), later = job("later", "true");
  const pid_t controller = fork();
  if (controller == 0) {
    LocalExecutor local = executor();
    run(local, before);
    local.start(lasting);
    kill(getpid(), SIGKILL);
  }
  int how = 0;
  waitpid(controller, &how, 0);
  ASSERT_TRUE(WIFSIGNALED(how));
  LocalExecutor local = executor();
  EXPECT_EQ(local.poll(before).exit_code, 0);
  EXPECT_EQ(local.poll(lasting).state, State::kRunning);
  local.start(lasting);
  EXPECT_EQ(run(local, later).exit_code, 0);
  make("go");
  const JobStatus end = end_of(local, lasting);
  EXPECT_EQ(end.state, State::kEnded);
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_EQ(worker_of(lasting), worker_of(before));
  EXPECT_NE(worker_of(later), worker_of(lasting));
  EXPECT_TRUE(is_gone(worker_of(lasting)));
}

TEST_F(WorkerPoolTest, WhatAJobCrashedOfIsKnownThoughItsControllerWasGone) {
  const Job before = job("before", "true"), crashes = job("crashes", until("go") + "; kill -SEGV $PPID; sleep 60");
  const pid_t controller = fork();
  if (controller == 0) {
    LocalExecutor local = executor();
    run(local, before);
    local.start(crashes);
    kill(getpid(), SIGKILL);
  }
  waitpid(controller, nullptr, 0);
  LocalExecutor local = executor();
  EXPECT_EQ(local.poll(crashes).state, State::kRunning);
  for (int i = 0; i < 3000 && output(crashes).empty(); ++i) pause();
  const pid_t worker = worker_of(crashes);
  make("go");
  EXPECT_TRUE(is_gone(worker));
  kill(-worker, SIGKILL);  // the shell that still sleeps
  const JobStatus end = end_of(local, crashes);
  EXPECT_EQ(end.state, State::kEnded);
  EXPECT_EQ(end.exit_code, 128 + SIGSEGV);
}

TEST_F(WorkerPoolTest, AJobThatIsStoppedMaySaveFirstAndItsWorkerRunsNoOther) {
  LocalExecutor local = executor();
  const Job saves = job("saves", "trap 'echo saved; exit 143' TERM; touch up; while :; do sleep 0.02; done"),
            next = job("next", "true");
  local.start(saves);
  wait_for("up");
  local.stop(saves);
  const JobStatus end = end_of(local, saves);
  EXPECT_EQ(end.state, State::kEnded);
  EXPECT_EQ(end.exit_code, 143);
  EXPECT_NE(output(saves).find("saved"), std::string::npos);
  EXPECT_EQ(run(local, next).exit_code, 0);
  EXPECT_NE(worker_of(next), worker_of(saves));
}

TEST_F(WorkerPoolTest, AJobOfOtherDevicesOrThatMayNotFollowHasAProcessOfItsOwn) {
  LocalExecutor local = executor();
  Job first = job("first", "echo $CUDA_VISIBLE_DEVICES"), other = job("other", "echo $CUDA_VISIBLE_DEVICES"),
      alone = job("alone", "true");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  first.gpus = {1};
  other.gpus = {0};
  alone.may_follow = false;
  for (const Job& j : {first, other, alone}) EXPECT_EQ(run(local, j).exit_code, 0);
  EXPECT_EQ(output(first), fmt::format("{}\n1\n", worker_of(first)));
  EXPECT_EQ(output(other), fmt::format("{}\n0\n", worker_of(other)));
  EXPECT_NE(worker_of(first), worker_of(other));
  EXPECT_NE(worker_of(alone), worker_of(other));
  EXPECT_TRUE(is_gone(worker_of(first)));  // it would only keep memory
}

TEST_F(WorkerPoolTest, JobsSideBySideHaveWorkersAndCoresOfTheirOwn) {
  const std::vector<Core> cores = allowed_cores();
  if (cores.size() < 2) GTEST_SKIP() << "needs two cores";
  LocalExecutor local = executor();
  Job one = job("one", until("go")), two = job("two", until("go")), three = job("three", "true");
  one.cores = two.cores = three.cores = 1;
  local.start(one);
  local.start(two);
  EXPECT_EQ(read_local_process(one.folder)->cpus, cores[0]);
  EXPECT_EQ(read_local_process(two.folder)->cpus, cores[1]);
  make("go");
  end_of(local, one);
  end_of(local, two);
  EXPECT_NE(worker_of(one), worker_of(two));
  EXPECT_EQ(run(local, three).exit_code, 0);
  EXPECT_TRUE(worker_of(three) == worker_of(one) || worker_of(three) == worker_of(two));
}

TEST_F(WorkerPoolTest, WordsThatAreTooManyForAMessageReachAShell) {
  LocalExecutor local = executor();
  const Job large = job("large", "true " + std::string(100000, 'x'));
  EXPECT_EQ(run(local, large).exit_code, 0);
}

}  // namespace
}  // namespace tessera
