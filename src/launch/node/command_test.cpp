#include "launch/node/command.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

TEST(RunCommand, GivesBothOutputsAndTheExitCode) {
  const CommandResult result = run_command({"sh", "-c", "echo one; echo two >&2; exit 3"}, 300);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "one\n");
  EXPECT_EQ(result.err, "two\n");
  EXPECT_EQ(result.complaint(), "two");
  EXPECT_FALSE(result.ok());
}

TEST(RunCommand, PassesMoreInputThanAPipeHolds) {
  const std::string input(1 << 20, 'x');
  const CommandResult result = run_command({"wc", "-c"}, 300, input);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(std::stoi(result.out), 1 << 20);
}

TEST(RunCommand, DoesNotWaitForWhatTheCommandLeftBehind) {
  EXPECT_TRUE(run_command({"sh", "-c", "sleep 1000 & echo done"}, 300).ok());
}

TEST(RunCommand, EndsOneThatDoesNotAnswer) {
  const CommandResult result = run_command({"sh", "-c", "echo slow >&2; sleep 60"}, 0.3);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.complaint(), "no answer in time: slow");
}

TEST(RunCommand, NamesAProgramThatIsNotThere) {
  EXPECT_THROW(run_command({"no-such-program-anywhere"}, 5), Error);
}

}  // namespace
}  // namespace tessera
