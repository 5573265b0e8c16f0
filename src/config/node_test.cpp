#include "config/node.h"

#include <gtest/gtest.h>

#include "config/experiment.h"
#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::TempFolder;

TEST(Config, LaterBaseWinsAndTheFileWinsOverBases) {
  const TempFolder folder;
  write_file(folder / "a.yaml", std::string_view("optimizer: {lr: 0.1, momentum: 0.5}\ntrain: {seed: 1}\n"));
  write_file(folder / "b.yaml", std::string_view("optimizer:\n  lr: 0.2\n"));
  write_file(folder / "c.yaml", std::string_view("base: [a.yaml, b.yaml]\ntrain:\n  seed: 3\n"));
  const Experiment e = load_experiment(folder / "c.yaml", {"train.batch_size=2"});
  EXPECT_EQ(e.optimizer.lr, 0.2);
  EXPECT_EQ(e.optimizer.momentum, 0.5);
  EXPECT_EQ(e.train.seed, 3U);
  EXPECT_EQ(e.train.batch_size, 2);
  EXPECT_EQ(e.run.name, "c");
}

TEST(Config, EveryValueKnowsWhereItCameFrom) {
  const TempFolder folder;
  write_file(folder / "a.yaml", std::string_view("optimizer:\n  lr: 0.1\n"));
  const Node node = compose(folder / "a.yaml", {"train.seed=5"});
  EXPECT_EQ(node.find("optimizer")->find("lr")->origin.text(), (folder / "a.yaml").string() + ":2");
  EXPECT_EQ(node.find("train")->find("seed")->origin.text(), "command line");
}

TEST(Config, EnvironmentIsPutIn) {
  ::setenv("TESSERA_TEST_ROOT", "/data/x", 1);
  const Experiment e =
      read_experiment(parse_config(R"(data: {path: "${TESSERA_TEST_ROOT}/y", classes: ["${NOT_SET:-z}", "$$5"]})", "t"));
  EXPECT_EQ(e.data.path, "/data/x/y");
  EXPECT_EQ(e.data.classes, (std::vector<std::string>{"z", "$5"}));
  EXPECT_THROW(read_experiment(parse_config("data: {path: \"${NOT_SET}\"}", "t")), UsageError);
}

TEST(Config, TildeIsTheHomeFolder) {
  const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "~";
  const auto path = [](const std::string& text) { return load_experiment("", {"data.path=" + text}).data.path; };
  EXPECT_EQ(path("~/cells"), home + "/cells");
  EXPECT_EQ(path("a/~/b"), "a/~/b");
  EXPECT_EQ(path("~other"), "~other");
}

TEST(Config, OverriddenValueNeedsNoVariable) {
  const TempFolder folder;
  write_file(folder / "c.yaml", std::string_view("data: {path: \"${NOT_SET}/x\"}"));
  EXPECT_EQ(load_experiment(folder / "c.yaml", {"data.path=/here"}).data.path, "/here");
}

TEST(Config, JsonIsReadToo) {
  const TempFolder folder;
  write_file(folder / "a.json", std::string_view("{\"train\": {\"batch_size\": 4, \"duration\": \"3ep\"}}"));
  EXPECT_EQ(load_experiment(folder / "a.json").train.batch_size, 4);
}

// Each line: what is written, and what the message must contain.
TEST(Config, MistakesAreNamedWithFileLineAndNearestKey) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"optimiser: {lr: 1}", "c.yaml:1: unknown key 'optimiser', did you mean 'optimizer'?"},
      {"train:\n  batchsize: 4", "c.yaml:2: unknown key 'train.batchsize', did you mean 'batch_size'?"},
      {"optimizer: {lr: fast}", "optimizer.lr expects a number, got 'fast'"},
      {"optimizer: {lr: -1}", "optimizer.lr expects a value of at least 0, got '-1'"},
      {"train: {batch_size: 2.5}", "train.batch_size expects a whole number"},
      {"train: {batch_size: \"4\"}", "train.batch_size expects a whole number"},
      {"train: {precision: bf17}",
       "train.precision expects one of fp32, bf16, fp16, fp64, tf32, auto, got 'bf17', did you mean 'bf16'?"},
      {"train: {threads: 100000}", "train.threads expects a value in 0..1024, got '100000'"},
      {"data: {threads: 1025}", "data.threads expects a value in 0..1024, got '1025'"},
      {"train: {duration: 10}", "expected a duration such as 25ep"},
      {"train: {channels_last: maybe}", "expects true or false"},
      {"data: {train: {transforms: [{random_crp: {size: 5}}]}}", "did you mean 'random_crop'?"},
      {"data: {train: {transforms: [{random_crop: {sise: 5}}]}}", "did you mean 'size'?"},
      {"data: {synthetic: {size: [1, 2, 3]}}", "a size: 512 or [height, width]"},
      {"data: {synthetic: {size: 99999999999}}", "data.synthetic.size expects"},
      {"train: 5", "train expects a group of 'key: value' lines, got '5'"},
      {"model: {unet: {channels: [8, 16], convs: [2, 2]}}", "expected 1, or 3"},
      {"data: {channels: 1, normalize: {mean: [1, 2, 3]}}", "has 3 means and 1 std; expected one of each (data.channels is 1)"},
      {"data: {channels: 5, normalize: {std: [1, 2]}}", "expected one of each, or 5 (data.channels is 5)"},
      {"data: {normalize: {mode: range}}", "data.normalize.mode=range has 0 low_value and 0 high_value; expected one of each"},
      {"data: {normalize: {mode: range, low_value: [0, 5, 0], high_value: 5}}",
       "low_value 5 is not below high_value 5 (channel 1)"},
      {"train: {duration: 99999999999999999999ba}", "c.yaml:1: train.duration: expected a duration of at most"},
      {"a: [", "not valid YAML"},
      {"train:\n\tseed: 3\n", "line 2 is indented by a tab: YAML takes spaces only"},
      {"train:\n  seed: 3\n \tbatch_size: 4\n", "line 3 is indented by a tab"},
      {"- 1", "expected a config of 'key: value' lines"},
      {"train: {seed: -1}", "c.yaml:1: train.seed expects a value of at least 0, got '-1'"},
      {"train: {seed: 9223372036854775808}", "c.yaml:1: train.seed expects a whole number"},
      {"train: {seed: 1}\ntrain: {seed: 2}", "stands twice"},
      {"base: missing.yaml", "missing.yaml"},
      {"base: c.yaml", "in a circle"},
  };
  const TempFolder folder;
  for (const auto& [text, expected] : cases) {
    write_file(folder / "c.yaml", std::string_view(text));
    EXPECT_CONTAINS(testing::message_of<UsageError>([&] { load_experiment(folder / "c.yaml"); }), expected) << text;
  }
}

TEST(Config, OverridesAreTakenAsTheyAre) {
  const auto path = [](const std::string& text) { return load_experiment("", {"data.path=" + text}).data.path; };
  EXPECT_EQ(path("set1 #2"), "set1 #2");
  EXPECT_EQ(path("#2"), "#2");
  EXPECT_EQ(path(" a: b "), "a: b");
  EXPECT_EQ(path("'a # b'"), "a # b");
  EXPECT_EQ(path("a=b"), "a=b");
  EXPECT_EQ(path(""), "");
  EXPECT_THROW(load_experiment("", {"optimizer.lr="}), UsageError);
  EXPECT_EQ(load_experiment("", {"optimizer.lr=null"}).optimizer.lr, Experiment().optimizer.lr);
  EXPECT_EQ(load_experiment("", {"data.classes=[a, b]"}).data.classes.size(), 2U);
  EXPECT_THROW(load_experiment("", {"data.classes=a,b"}), UsageError);
}

TEST(Config, AFileHoldsOneConfig) {
  EXPECT_THROW(parse_config("optimizer: {lr: 1}\n---\noptimizer: {lr: 2}\n", "t"), UsageError);
  EXPECT_NO_THROW(parse_config("---\noptimizer: {lr: 1}\n", "t"));
  EXPECT_NO_THROW(parse_config("", "t"));
}

TEST(Config, OverridesReachIntoListsAndComplainClearly) {
  const TempFolder folder;
  write_file(folder / "c.yaml", std::string_view("data: {train: {transforms: [{random_crop: {size: 64}}, flip]}}"));
  const Experiment e =
      load_experiment(folder / "c.yaml", {"data.train.transforms.0.random_crop.size=[32,48]", "eval.scales=[0.5,1]"});
  EXPECT_EQ(std::get<RandomCropConfig>(e.data.train.transforms[0]).size, (Size{32, 48}));
  EXPECT_EQ(e.eval.scales.size(), 2U);
  for (const char* bad : {"novalue", "=1", "data.train.transforms.7.flip.vertical=1", "train.seed=[", "optimiser.lr=1"}) {
    EXPECT_THROW(load_experiment(folder / "c.yaml", {bad}), UsageError) << bad;
  }
}

}  // namespace
}  // namespace tessera
