#include "launch/cluster/command_line.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Words = std::vector<std::string>;

Words after_launch(const Words& command, bool again) {
  LaunchOptions options;
  options.command = command;
  options.own_commands = {"train", "eval"};
  return rank_command(options, again);
}

TEST(RankCommand, OwnCommandsGetTheProgram) {
  EXPECT_EQ(after_launch({"train", "c.yaml"}, false), (Words{own_program(), "train", "c.yaml"}));
  EXPECT_EQ(after_launch({"-q", "eval"}, true), (Words{own_program(), "-q", "eval"}));
}

TEST(RankCommand, OthersRunAsTheyAre) {
  EXPECT_EQ(after_launch({"sh", "-c", "train"}, true), (Words{"sh", "-c", "train"}));
}

TEST(RankCommand, TrainingStartedAgainResumes) {
  EXPECT_EQ(after_launch({"train", "c.yaml"}, true), (Words{own_program(), "train", "c.yaml", "--resume"}));
  EXPECT_EQ(after_launch({"train", "--resume", "x"}, true), (Words{own_program(), "train", "--resume", "x"}));
}

}  // namespace
}  // namespace tessera
