// With a command in the place of ssh that runs on this machine what it is given; tests/cluster/ssh.py has real hosts.
#include "study/executor/ssh_executor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "study/executor/job_files.h"
#include "study/executor/job_script.h"

namespace tessera {
namespace {

using State = JobStatus::State;

class SshExecutorTest : public ::testing::Test {
 protected:
  SshExecutorTest() : folder_(fs::temp_directory_path() / fmt::format("ssh_executor_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_ssh("exec sh -c \"$2\"");
  }
  ~SshExecutorTest() override { fs::remove_all(folder_); }

  // Calls are noted; `rest` is what it does with HOST COMMAND.
  void write_ssh(const std::string& rest) const {
    const fs::path file = folder_ / "ssh";
    write_file(file, fmt::format("#!/bin/sh\necho \"$1\" >> {}\n{}\n", (folder_ / "calls").string(), rest));
    fs::permissions(file, fs::perms::owner_all);
  }
  // `settle_s` is long, for a busy machine may take its time from a job's start to its first line; short where one is lost.
  SshExecutor executor(std::vector<std::string> hosts = {"a:2", "b:4"}, double settle_s = 120) const {
    return SshExecutor({.hosts = std::move(hosts),
                        .ssh = (folder_ / "ssh").string(),
                        .poll_s = 0.05,
                        .timeout_s = 120,
                        .lost_after_s = 1,
                        .settle_s = settle_s},
                       {"/bin/sh", "-c"});
  }
  Job job(const std::string& name, const std::string& command, int ranks = 1) const {
    return {.name = name, .arguments = {command, "-p", "ddp", "--ranks", "0"}, .folder = folder_ / name, .ranks = ranks};
  }
  static JobStatus end_of(SshExecutor& executor, const Job& job) {
    JobStatus status = executor.poll(job);
    for (int i = 0; i < 10000 && status.state == State::kRunning; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      status = executor.poll(job);
    }
    return status;
  }
  static void wait_for(const fs::path& file) {
    for (int i = 0; i < 30000 && !fs::exists(file); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(fs::exists(file)) << file;
  }

  fs::path folder_;
};

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(SshExecutorTest, AJobLeavesItsOutputAndItsExitCode) {
  SshExecutor ssh = executor();
  const Job one = job("one", "echo $CUDA_VISIBLE_DEVICES; exit 3", 2);
  EXPECT_EQ(ssh.poll(one).state, State::kUnknown);
  ssh.start(one);
  const JobStatus end = end_of(ssh, one);
  EXPECT_EQ(end.state, State::kEnded);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.reason, "0,1");
  EXPECT_EQ(read_text(one.folder / "place"), "a 0,1\n");  // where it fits best
}

TEST_F(SshExecutorTest, JobsThatRunTogetherHaveSlotsOfTheirOwn) {
  SshExecutor ssh = executor();
  const std::string waits = fmt::format("while [ ! -e {} ]; do sleep 0.02; done", (folder_ / "go").string());
  const Job first = job("first", waits), second = job("second", waits, 3), third = job("third", waits);
  for (const Job& each : {first, second, third}) ssh.start(each);
  EXPECT_EQ(read_text(first.folder / "place"), "a 0\n");
  EXPECT_EQ(read_text(second.folder / "place"), "b 0,1,2\n");
  EXPECT_EQ(read_text(third.folder / "place"), "a 1\n");
  const Job more = job("more", "true", 2);
  EXPECT_NE(error_of([&] { ssh.start(more); }).find("no host takes the job more: none that can be reached has 2 free slots"),
            std::string::npos);
  EXPECT_EQ(ssh.poll(more).state, State::kUnknown);
  EXPECT_FALSE(ssh.has_room(more));
  EXPECT_TRUE(ssh.has_room(job("small", "true")));
  SshExecutor later = executor();  // it learns from those that run which slots are taken
  for (const Job& each : {first, second, third}) EXPECT_EQ(later.poll(each).state, State::kRunning);
  EXPECT_THROW(later.start(more), Error);
  write_file(folder_ / "go", std::string_view("x"));
  for (const Job& each : {first, second, third}) EXPECT_EQ(end_of(later, each).exit_code, 0);
  later.start(more);
  EXPECT_EQ(end_of(later, more).exit_code, 0);
  EXPECT_EQ(ssh.most_at_once(first), 6);
  EXPECT_EQ(ssh.most_at_once(more), 3);
  EXPECT_EQ(ssh.most_at_once(job("all", "true", 6)), 1);
}

TEST_F(SshExecutorTest, NoJobIsStartedTwiceByWhomever) {
  const Job once = job("once", "echo started; sleep 0.3");
  SshExecutor ssh = executor(), other = executor();
  ssh.start(once);
  other.start(once);
  other.start(once);
  EXPECT_EQ(end_of(other, once).exit_code, 0);
  EXPECT_EQ(read_text(once.folder / kJobOutput).find("started\n"), 0U);
  EXPECT_EQ(read_text(once.folder / kJobOutput).rfind("started\n"), 0U);
}

TEST_F(SshExecutorTest, AStoppedJobMaySaveFirst) {
  SshExecutor ssh = executor();
  const Job saves = job("saves", fmt::format("trap 'echo saved; exit 143' TERM; touch {}; while :; do sleep 0.02; done",
                                             (folder_ / "up").string()));
  ssh.start(saves);
  wait_for(folder_ / "up");
  ssh.stop(saves);
  const JobStatus end = end_of(ssh, saves);
  EXPECT_EQ(end.exit_code, 143);
  EXPECT_TRUE(end.reason.ends_with("saved")) << end.reason;
}

TEST_F(SshExecutorTest, AJobThatWasKilledWholeIsLost) {
  SshExecutor ssh = executor({"a:2", "b:4"}, 0.5);
  const Job killed = job("killed", fmt::format("touch {}; sleep 60", (folder_ / "up").string()));
  ssh.start(killed);
  wait_for(folder_ / "up");
  std::istringstream by(*claimed_by(killed.folder));
  std::string host;
  pid_t session = 0;
  by >> host >> session;
  ASSERT_GT(session, 1);
  kill(-session, SIGKILL);
  EXPECT_EQ(end_of(ssh, killed).state, State::kLost);
}

TEST_F(SshExecutorTest, AHostThatCannotBeReachedIsLeftOut) {
  write_ssh("[ \"$1\" = a ] && exit 255; exec sh -c \"$2\"");
  SshExecutor ssh = executor();
  const Job one = job("one", "true");
  ssh.start(one);
  EXPECT_EQ(end_of(ssh, one).exit_code, 0);
  EXPECT_EQ(read_text(one.folder / "place"), "b 0\n");
  write_ssh("exit 255");
  SshExecutor none = executor();
  const Job two = job("two", "true");
  EXPECT_NE(error_of([&] { none.start(two); }).find("Nothing was started"), std::string::npos);
  EXPECT_EQ(none.poll(two).state, State::kUnknown);
}

TEST_F(SshExecutorTest, JobsOfASilentHostGoOnUntilItsTimeIsUp) {
  SshExecutor ssh = executor({"a:1"});
  const Job one = job("one", fmt::format("while [ ! -e {} ]; do sleep 0.02; done", (folder_ / "go").string()));
  ssh.start(one);
  wait_for(one.folder / "started" / "by");
  write_ssh("exit 255");
  const JobStatus at_first = ssh.poll(one);
  EXPECT_EQ(at_first.state, State::kRunning);
  const JobStatus end = end_of(ssh, one);
  EXPECT_EQ(end.state, State::kLost);
  EXPECT_NE(end.reason.find("a has not answered"), std::string::npos) << end.reason;
  write_file(folder_ / "go", std::string_view("x"));
  wait_for(one.folder / kJobExitCode);
}

TEST_F(SshExecutorTest, AFolderThatIsNotSharedIsAnError) {
  write_ssh("cd /; exec sh -c \"$(echo \"$2\" | sed 's/place/elsewhere/')\"");
  SshExecutor ssh = executor();
  const Job one = job("one", "true");
  EXPECT_NE(error_of([&] { ssh.start(one); }).find("does not see what this one sees"), std::string::npos);
  EXPECT_EQ(claimed_by(one.folder), std::nullopt);
}

TEST_F(SshExecutorTest, RefusesWhatNoHostCanHold) {
  EXPECT_THROW(executor({}), UsageError);
  SshExecutor ssh = executor();
  EXPECT_THROW(ssh.start(job("large", "true", 7)), UsageError);
  Job threads = job("threads", "true", 5);
  threads.threads = true;
  EXPECT_THROW(ssh.start(threads), UsageError);
}

}  // namespace
}  // namespace tessera
