#include "study/executor/claimed_script.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "core/files.h"
#include "launch/node/command.h"
#include "study/executor/job_files.h"

namespace tessera {
namespace {

class ClaimedScriptTest : public ::testing::Test {
 protected:
  ClaimedScriptTest() : folder_(fs::temp_directory_path() / fmt::format("it's a job {}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ClaimedScriptTest() override { fs::remove_all(folder_); }

  void write(const std::string& command, const std::string& own_name = "$$") const {
    write_file(folder_ / kJobScript, claimed_script(folder_, {.heading = "# a job",
                                                              .own_name = own_name,
                                                              .variables = {{"WORD", "it's $HOME"}},
                                                              .setup = {"other=set"},
                                                              .command = command}));
  }
  CommandResult run() const { return run_command({"bash", (folder_ / kJobScript).string()}, 300); }

  fs::path folder_;
};

TEST_F(ClaimedScriptTest, LeavesWhoRunsItAndTheExitCode) {
  write("echo \"$WORD $other\"; sh -c 'exit 5'", "me");
  EXPECT_EQ(claimed_by(folder_), std::nullopt);
  const CommandResult result = run();
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.out, "it's $HOME set\n");
  EXPECT_EQ(claimed_by(folder_), "me");
  EXPECT_EQ(read_exit_code(folder_), 5);
}

TEST_F(ClaimedScriptTest, OfManyAtOnceOneRunsTheCommand) {
  write(fmt::format("echo x >> \"$job/{}\"", "ran"));
  std::vector<std::thread> starters;
  for (int i = 0; i < 8; ++i) starters.emplace_back([this] { EXPECT_EQ(run().exit_code, 0); });
  for (std::thread& starter : starters) starter.join();
  EXPECT_EQ(read_text(folder_ / "ran"), "x\n");
  EXPECT_EQ(read_exit_code(folder_), 0);
}

TEST_F(ClaimedScriptTest, WhoHasItMayRunItAgain) {  // as Slurm does with a job that it puts back into the queue
  write("echo x >> \"$job/ran\"", "job-12");
  run();
  run();
  EXPECT_EQ(read_text(folder_ / "ran"), "x\nx\n");
}

TEST_F(ClaimedScriptTest, WaitsForACommandThatIsAskedToEnd) {
  write("sh -c 'trap \"echo saved; exit 143\" TERM; kill -TERM -$PPID; while :; do sleep 0.02; done'");
  const CommandResult result = run_command({"setsid", "-w", "bash", (folder_ / kJobScript).string()}, 300);
  EXPECT_EQ(result.out, "saved\n");
  EXPECT_EQ(read_exit_code(folder_), 143);
}

}  // namespace
}  // namespace tessera
