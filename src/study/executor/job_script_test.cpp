#include "study/executor/job_script.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "core/files.h"
#include "launch/node/command.h"
#include "study/executor/job_files.h"

namespace tessera {
namespace {

class JobScriptTest : public ::testing::Test {
 protected:
  JobScriptTest() : folder_(fs::temp_directory_path() / fmt::format("it's a job {}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~JobScriptTest() override { fs::remove_all(folder_); }

  // `text` is for sh, which the command is.
  void write(const std::string& text, const std::string& own_name = "$$") const {
    write_file(folder_ / kJobScript, job_script(folder_, {.heading = "# a job",
                                                          .own_name = own_name,
                                                          .variables = {{"WORD", "it's $HOME"}, {"FOLDER", folder_.string()}},
                                                          .setup = {"export other=set"},
                                                          .command = {"sh", "-c", text}}));
  }
  CommandResult run() const { return run_command({"bash", (folder_ / kJobScript).string()}, 300); }

  fs::path folder_;
};

TEST_F(JobScriptTest, LeavesWhoRunsItAndTheExitCode) {
  write("echo \"$WORD $other\"; exit 5", "me");
  EXPECT_EQ(claimed_by(folder_), std::nullopt);
  const CommandResult result = run();
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.out, "it's $HOME set\n");
  EXPECT_EQ(claimed_by(folder_), "me");
  EXPECT_EQ(read_exit_code(folder_), 5);
}

TEST_F(JobScriptTest, OfManyAtOnceOneRunsTheCommand) {
  write("echo x >> \"$FOLDER/ran\"");
  std::vector<std::thread> starters;
  for (int i = 0; i < 8; ++i) starters.emplace_back([this] { EXPECT_EQ(run().exit_code, 0); });
  for (std::thread& starter : starters) starter.join();
  EXPECT_EQ(read_text(folder_ / "ran"), "x\n");
  EXPECT_EQ(read_exit_code(folder_), 0);
}

TEST_F(JobScriptTest, WhoHasItMayRunItAgain) {  // as Slurm does with a job that it puts back into the queue
  write("echo x >> \"$FOLDER/ran\"", "job-12");
  run();
  run();
  EXPECT_EQ(read_text(folder_ / "ran"), "x\nx\n");
}

TEST_F(JobScriptTest, WaitsForACommandThatIsAskedToEnd) {
  write("trap 'echo saved; exit 143' TERM; kill -TERM -$PPID; while :; do sleep 0.02; done");
  const CommandResult result = run_command({"setsid", "-w", "bash", (folder_ / kJobScript).string()}, 300);
  EXPECT_EQ(result.out, "saved\n");
  EXPECT_EQ(read_exit_code(folder_), 143);
}

TEST_F(JobScriptTest, WithoutANameOfItsOwnItClaimsNothing) {  // jobs of this machine, which /bin/sh runs
  write("exit 3", "");
  const std::string script = (folder_ / kJobScript).string();
  EXPECT_EQ(run_command({"/bin/sh", script}, 300).exit_code, 3);
  EXPECT_EQ(claimed_by(folder_), std::nullopt);
  EXPECT_EQ(read_exit_code(folder_), 3);
}

}  // namespace
}  // namespace tessera
