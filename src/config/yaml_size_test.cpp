#include "config/yaml_size.h"

#include <gtest/gtest.h>

#include <ctime>

#include "config/node.h"
#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;

// Each level holds the one before ten times.
std::string bomb(int levels) {
  std::string text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < levels; ++i) {
    text += fmt::format("l{}: &l{} [", i, i);
    for (int k = 0; k < 10; ++k) text += fmt::format("{}*l{}", k == 0 ? "" : ", ", i - 1);
    text += "]\n";
  }
  return text;
}

TEST(YamlSize, AliasesThatUnfoldAreRefusedByLineAtOnce) {
  const std::clock_t begin = std::clock();  // of the processor: others may keep it busy
  EXPECT_CONTAINS(message_of<UsageError>([] { parse_config(bomb(40), "bomb.yaml"); }),
                  "bomb.yaml:6: the config has more than 1000000 values");
  EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
}

TEST(YamlSize, LongTextBehindAliasesIsRefused) {
  std::string text = "a: &a " + std::string(1 << 20, 'x') + "\nb: [";
  for (int i = 0; i < 100; ++i) text += "*a, ";
  EXPECT_CONTAINS(message_of<UsageError>([&] { parse_config(text + "1]\n", "long.yaml"); }),
                  "long.yaml:2: the config has more than 64 MiB of text");
}

TEST(YamlSize, AnOverrideIsBoundedToo) {
  std::string value = "[&a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
  for (char c = 'b'; c < 'k'; ++c) {
    value += fmt::format(", &{} [", c);
    for (int k = 0; k < 10; ++k) value += fmt::format("*{} , ", static_cast<char>(c - 1));
    value += "0]";
  }
  Node root;
  EXPECT_CONTAINS(message_of<UsageError>([&] { apply_override(root, "data.classes=" + value + "]"); }), "more than 1000000");
}

TEST(YamlSize, AnAliasOfItselfIsRefused) {
  EXPECT_CONTAINS(message_of<UsageError>([] { parse_config("a: &a [1, *a]", "c.yaml"); }), "c.yaml:1: the alias stands within");
}

TEST(YamlSize, AliasesOfUsualSizeAreRead) {
  const Node node = parse_config(bomb(4), "c.yaml");
  EXPECT_EQ(node.find("l3")->list[9].list[9].list[9].list[9].scalar, "x");
}

// Found by fuzzing: yaml-cpp's parser stays at the ',', and YAML::LoadAll gathers empty documents until the memory is full.
TEST(YamlSize, AStrayCommaIsRefused) {
  for (const char* text : {"# S pixels.\n,model:\n  name: seegme32, decoder:asm k, image_size: 640}\n", ","}) {
    EXPECT_CONTAINS(message_of<UsageError>([&] { parse_config(text, "c.yaml"); }), "a ',' or bracket that nothing opened");
  }
}

TEST(YamlSize, BasesThatMultiplyAreRefused) {
  const testing::TempFolder folder;
  write_file(folder / "0.yaml", std::string_view("train: {seed: 1}\n"));
  for (int i = 1; i <= 12; ++i) {
    std::string names;
    for (int k = 0; k < 10; ++k) names += fmt::format("{}.yaml, ", i - 1);
    write_file(folder / fmt::format("{}.yaml", i), fmt::format("base: [{}]\n", names.substr(0, names.size() - 2)));
  }
  EXPECT_CONTAINS(message_of<UsageError>([&] { load_config(folder / "12.yaml"); }), "more than 1000 'base' files");
}

// Each is small enough by itself.
TEST(YamlSize, BasesAreCountedTogether) {
  const testing::TempFolder folder;
  std::string names;
  for (int i = 0; i < 3; ++i) {
    std::string text = "a" + std::to_string(i) + ": [0";
    for (int k = 0; k < 400'000; ++k) text += ",0";
    write_file(folder / fmt::format("{}.yaml", i), text + "]\n");
    names += fmt::format("{}{}.yaml", i == 0 ? "" : ", ", i);
  }
  write_file(folder / "all.yaml", fmt::format("base: [{}]\n", names));
  EXPECT_CONTAINS(message_of<UsageError>([&] { load_config(folder / "all.yaml"); }),
                  "2.yaml:1: the config has more than 1000000");
}

TEST(YamlSize, VeryManyKeysAreMergedInTime) {
  const testing::TempFolder folder;
  for (const char* name : {"under", "over"}) {
    std::string text = "model: {options: {";
    for (int k = 0; k < 100'000; ++k) text += fmt::format("{}{}: 1, ", name, k);
    write_file(folder / fmt::format("{}.yaml", name), text + "last: 1}}\n" + (name[0] == 'o' ? "base: under.yaml\n" : ""));
  }
  const std::clock_t begin = std::clock();  // of the processor: others may keep it busy
  const Node all = load_config(folder / "over.yaml");
  EXPECT_EQ(all.find("model")->find("options")->map.size(), 200'001U);
  EXPECT_LT(std::clock() - begin, 20 * CLOCKS_PER_SEC);  // minutes, when each key was looked for in all
}

}  // namespace
}  // namespace tessera
