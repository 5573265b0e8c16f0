#include "study/space/read_space.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

Space space_of(const std::string& text) {
  return read_space(parse_config(text, "study.yaml"), ".");
}

std::string error_of(const std::string& text) {
  try {
    space_of(text);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ReadSpace, EveryKind) {
  const Space space = space_of(
      "optimizer.lr: {log: [1e-4, 1e-1]}\n"
      "optimizer.momentum: {uniform: [0.8, 0.99], step: 0.05}\n"
      "model.name: [unet, fcn]\n"
      "model.unet.channels: {choice: [[16, 32], [32, 64]], when: {model.name: unet}}\n"
      "train.batch_size: {log_integer: [2, 32], points: 3}\n"
      "train.seed: {grid: [1, 2]}\n"
      "optimizer.weight_decay: {normal: [1e-4, 1e-5], low: 0.00005}\n"
      "recipe: {fragments: {small: {train: {duration: 2ep}, data.classes: [a, 'b c']}, 8: {train.duration: 4ep}}}\n");
  EXPECT_EQ(space.at("optimizer.lr").log, true);
  EXPECT_EQ(space.at("optimizer.momentum").high, 0.95);  // the last step that fits
  EXPECT_EQ(space.at("model.unet.channels").choices[1].overrides[0], "model.unet.channels=[32, 64]");
  EXPECT_EQ(space.at("model.unet.channels").when->allowed, std::vector<double>{0});
  EXPECT_EQ(space.at("train.batch_size").points, 3);
  EXPECT_TRUE(space.at("train.seed").exhaustive);
  EXPECT_EQ(space.at("train.seed").choices[0].value, "1");
  EXPECT_EQ(space.at("optimizer.weight_decay").low, 5e-5);
  EXPECT_EQ(space.at("recipe").choices[0].overrides,
            (std::vector<std::string>{"train.duration=2ep", "data.classes=[a, 'b c']"}));
  EXPECT_EQ(space.at("recipe").choices[1].value, "\"8\"");
}

TEST(ReadSpace, ErrorsNameLineAndParameter) {
  EXPECT_TRUE(says(error_of("a: [x]\noptimizer.lr: {lgo: [1, 2]}\n"),
                   "study.yaml:2: optimizer.lr: unknown key 'lgo', did you mean 'log'"));
  EXPECT_TRUE(says(error_of("x: {uniform: [2, 1]}\n"), "study.yaml:1: x: the range 2 .. 1 holds no two values"));
  EXPECT_TRUE(says(error_of("x: {uniform: [1, 1]}\n"), "holds no two values"));
  EXPECT_TRUE(says(error_of("x: {log: [0, 1]}\n"), "a logarithm needs more than 0"));
  EXPECT_TRUE(says(error_of("x: {uniform: [0, 1], step: 2}\n"), "the step 2"));
  EXPECT_TRUE(says(error_of("x: {integer: [0, 1.5]}\n"), "expected a whole number, got '1.5'"));
  EXPECT_TRUE(says(error_of("x: {uniform: [0, abc]}\n"), "expected a number, got 'abc'"));
  EXPECT_TRUE(says(error_of("x: []\n"), "got an empty list"));
  EXPECT_TRUE(says(error_of("x: [1, 1]\n"), "stands twice"));
  EXPECT_TRUE(says(error_of("x: {step: 1}\n"), "expected a list of values, or one of choice, grid"));
  EXPECT_TRUE(
      says(error_of("m: [unet]\nx: {integer: [0, 2], when: {m: unnet}}\n"), "m has no value 'unnet', did you mean 'unet'"));
  EXPECT_TRUE(
      says(error_of("m: [unet]\nx: {integer: [0, 2], when: {n: unet}}\n"), "no parameter is called so, did you mean 'm'"));
  EXPECT_TRUE(says(error_of("x: [1e-3, 0.001]\n"), "the value '0.001' stands twice"));
  EXPECT_TRUE(says(error_of("x: {uniform: [0, 1], step: 1e-20}\n"), "cannot be counted"));
  EXPECT_TRUE(says(error_of("m: [unet]\nx: {integer: [0, 2], when: {m: []}}\n"), "x: 'when' names no value of m"));
  EXPECT_TRUE(says(error_of(""), "expected the parameters to vary"));
}

TEST(ReadSpace, StepsOfNormalNumbersAreMultiples) {
  const Space space = space_of("x: {normal: [0.5, 0.1], low: 0.27, high: 0.73, step: 0.1}\n");
  EXPECT_EQ(space.at("x").low, 0.3);
  EXPECT_EQ(space.at("x").high, 0.7);
  EXPECT_TRUE(space.at("x").contains(space.at("x").at_share(0)));
}

TEST(ReadSpace, ConditionsNameChoicesAsTheyAreWritten) {
  const Space space = space_of("lr: [1e-3, 1e-2]\nx: {integer: [0, 2], when: {lr: 1e-2}}\n");
  EXPECT_EQ(space.at("x").when->allowed, std::vector<double>{1});
}

TEST(ParseVary, IsTheSameSpace) {
  const Space space =
      parse_vary({"optimizer.lr=log:1e-4:1e-1", "optimizer.momentum=uniform:0.8:0.9:0.05", "model.name=unet,fcn",
                  "model.unet.channels=[16,32],[32,64]", "train.seed=grid:1,2", "data.path=http://a/b"});
  EXPECT_EQ(space.at("optimizer.lr").low, 1e-4);
  EXPECT_EQ(space.at("optimizer.momentum").step, 0.05);
  EXPECT_EQ(space.at("model.name").choices.size(), 2u);
  EXPECT_EQ(space.at("model.unet.channels").choices[0].overrides[0], "model.unet.channels=[16,32]");
  EXPECT_TRUE(space.at("train.seed").exhaustive);
  EXPECT_EQ(space.at("data.path").choices[0].value, "\"http://a/b\"");
  EXPECT_THROW(parse_vary({"optimizer.lr=logg:1:2"}), UsageError);
  EXPECT_THROW(parse_vary({"optimizer.lr"}), UsageError);
  EXPECT_THROW(parse_vary({"optimizer.lr="}), UsageError);
  EXPECT_THROW(parse_vary({"a=1", "a=2"}), UsageError);
}

}  // namespace
}  // namespace tessera
