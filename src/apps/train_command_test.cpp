#include "apps/train_command.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

namespace tessera {
namespace {

// What a shell makes of a word.
std::string through_shell(const std::string& word) {
  const std::string command = "bash -c \"$(cat <<'END'\nprintf %s " + shell_word(word) + "\nEND\n)\"";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  std::array<char, 256> buffer{};
  while (const size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) text.append(buffer.data(), read);
  return text;
}

TEST(TrainCommand, AShellGivesBackEveryWord) {
  for (const std::string word : {"data.path=cells", "data.labels.map={0: 0, 7: 1}", "data.classes=[a,b]", "it's",
                                 "$HOME `x` \"y\"", "größe 07", "*", "new\nline", "esc\x1b[0m1", "a\\b"}) {
    EXPECT_EQ(through_shell(word), word) << shell_word(word);
  }
  EXPECT_EQ(shell_word("data.labels.binary=true"), "data.labels.binary=true");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(TrainCommand, HoldsWhatWasTypedAndWhatIsMissing) {
  EXPECT_EQ(train_command("tessera", "configs/pairs/unet.yaml", {"data.path=my cells", "data.channels=3"},
                          {"data.labels.binary=true", "data.channels=1", "run.name=my_cells"}),
            "tessera train configs/pairs/unet.yaml 'data.path=my cells' data.labels.binary=true data.channels=1 "
            "run.name=my_cells");
}

TEST(TrainCommand, ARunIsNamedAfterItsFolder) {
  EXPECT_EQ(run_name_for("data/cells/"), "cells");
  EXPECT_EQ(run_name_for("/a/day 2"), "day_2");
  EXPECT_EQ(run_name_for("cells/."), "cells");
  EXPECT_EQ(run_name_for(""), "");
  EXPECT_EQ(run_name_for("/"), "");
}

}  // namespace
}  // namespace tessera
