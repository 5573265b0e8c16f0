#include "config/experiment.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

TEST(Experiment, PrintedConfigReadsBackToTheSameText) {
  const std::vector<std::string> overrides{"data.path=/a b/\"c\"$HOME/ü",
                                           "data.train.transforms=[{resize: {mode: pad, size: [3, 4]}}, flip]",
                                           "data.labels.map={7: 0, 9: 1}",
                                           "schedule.milestones=[0.5dur, 9ep]",
                                           "optimizer.lr=1e-05",
                                           "data.classes=[no, 'x: y', '1']",
                                           "data.palette=[[1,2,3]]",
                                           "optimizer.lr_multipliers={backbone.layer1: 0.1, 'a b': 2}",
                                           "model.options={a: 1e-3, b: ['x, y', \"12\", ~], c: {d: yes}}"};
  const Experiment first = load_experiment("", overrides);
  const std::string text = experiment_yaml(first);
  const Experiment second = read_experiment(parse_config(text, "printed"));
  EXPECT_EQ(experiment_yaml(second), text);
  EXPECT_EQ(second.data.path, "/a b/\"c\"$HOME/ü");
  EXPECT_EQ(second.optimizer.lr, 1e-5);
  EXPECT_EQ(second.data.classes[0], "no");
  EXPECT_EQ(second.optimizer.lr_multipliers, (std::map<std::string, double>{{"backbone.layer1", 0.1}, {"a b", 2}}));
  const Node& list = *second.model.options.find("b");
  EXPECT_EQ(list.list[0].scalar, "x, y");
  EXPECT_TRUE(list.list[1].quoted);
  EXPECT_EQ(list.list[2].kind, Node::Kind::kNull);
  EXPECT_FALSE(second.model.options.find("a")->quoted);
}

TEST(Experiment, AnyTextReadsBackAsItWas) {
  const std::vector<std::string> texts{"a\tb",
                                       "a\rb\r\n",
                                       "\x01\x1f\x7f",
                                       "\"",
                                       "'",
                                       "it's \"x\" \\n \\",
                                       "${X} $X $$ $",
                                       " blank ",
                                       "",
                                       "12",
                                       "-1e3",
                                       "0x10",
                                       "true",
                                       "no",
                                       "null",
                                       "~",
                                       "a: b # c",
                                       "[1, 2]",
                                       "ü \xf0\x9f\x98\x80",
                                       "caf\xe9 \xff",
                                       "- x",
                                       "!tag",
                                       "&a *a",
                                       "x\xc2\x85y"};
  Experiment first;
  first.data.classes = texts;
  for (const std::string& text : texts) first.optimizer.lr_multipliers[text] = 0.5;
  first.model.options.kind = Node::Kind::kMap;
  for (const std::string& text : texts) {
    Node value;
    value.kind = Node::Kind::kScalar;
    value.scalar = text;
    value.quoted = true;
    first.model.options.map.emplace_back(text, value);
  }
  const Experiment second = read_experiment(parse_config(experiment_yaml(first), "printed"));
  EXPECT_EQ(second.data.classes, texts);
  EXPECT_EQ(second.optimizer.lr_multipliers, first.optimizer.lr_multipliers);
  for (const std::string& text : texts) {
    const Node* value = second.model.options.find(text);
    ASSERT_NE(value, nullptr) << text;
    EXPECT_EQ(value->scalar, text);
    EXPECT_TRUE(value->quoted) << text;
  }
}

// torchvision trains its auxiliary heads with 0.5, mmsegmentation with 0.4.
TEST(Experiment, AuxiliaryWeightIsThatOfTheHeadsLibraryUnlessSet) {
  const auto weight = [](const std::vector<std::string>& overrides) { return load_experiment("", overrides).loss.aux_weight; };
  EXPECT_EQ(weight({"model.name=deeplabv3"}), 0.5);
  EXPECT_EQ(weight({"model.name=fcn"}), 0.5);
  EXPECT_EQ(weight({"model.name=deeplabv3", "model.deeplabv3.layout=mmseg"}), 0.4);
  EXPECT_EQ(weight({"model.name=fcn", "model.fcn.layout=mmseg"}), 0.4);
  EXPECT_EQ(weight({"model.name=pspnet"}), 0.4);
  EXPECT_EQ(weight({"model.name=fcn", "loss.aux_weight=0.1"}), 0.1);
  Experiment e;
  e.model.name = "fcn";
  EXPECT_EQ(aux_weight_of(e), 0.5);
}

TEST(Experiment, EveryFieldHasAHelpLineAndAUniqueKey) {
  Experiment e;
  std::set<std::string> keys;
  for (const SchemaLine& line : experiment_lines(e)) {
    EXPECT_FALSE(line.help.empty()) << line.key;
    EXPECT_TRUE(keys.insert(line.key).second) << line.key;
  }
  EXPECT_GT(keys.size(), 90U);
}

// The data path of a config may need a variable: any value will do for reading it.
TEST(Experiment, EveryShippedConfigParses) {
  ::setenv("TESSERA_DATA", "/data", 0);
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::source_dir() + "/configs")) {
    const std::string folder = entry.path().parent_path().filename();
    const bool training = folder != "studies" && folder != "suites" && folder != "recipes";  // recipes: recipe_test
    if (entry.path().extension() != ".yaml" || !training) continue;
    ++count;
    EXPECT_NO_THROW(load_experiment(entry.path())) << entry.path();
  }
  EXPECT_GE(count, 3);
}

// What sets the recipes apart that are said to be those of other libraries.
TEST(Experiment, RecipesAfterOtherLibrariesHaveTheirMarks) {
  ::setenv("TESSERA_DATA", "/data", 0);
  const auto load = [](const char* name) { return load_experiment(testing::source_dir() + "/configs/" + name); };
  const Experiment composer = load("deeplabv3plus/r101_ade20k_mild.yaml");
  EXPECT_EQ(composer.train.ema.half_life, Duration::batches(1000));
  EXPECT_EQ(composer.train.ema.update_interval, Duration::batches(10));
  EXPECT_EQ(composer.schedule.type, ScheduleType::kConstant);
  const auto& train = composer.data.train.transforms;  // small images are padded all around, as Composer's PadToSize does
  ASSERT_EQ(train.size(), 5U);
  ASSERT_TRUE(std::holds_alternative<PadConfig>(train[1]));
  EXPECT_TRUE(std::get<PadConfig>(train[1]).centre);
  EXPECT_FALSE(load("deeplabv3plus/r101_ade20k_128ep.yaml").train.ema.enabled());
  for (const char* name : {"pspnet/r50_ade20k_80k.yaml", "upernet/vit_b16_ade20k_80k.yaml", "fcn/r50_ade20k_80k.yaml"}) {
    const Experiment mmseg = load(name);
    EXPECT_EQ(mmseg.loss.terms, std::vector<LossTermConfig>{CrossEntropyConfig{.mean = LossMean::kAll}}) << name;
    const auto& val = mmseg.data.val.transforms;
    ASSERT_TRUE(val.size() == 1 && std::holds_alternative<ScaleJitterConfig>(val[0])) << name;
    EXPECT_EQ(std::get<ScaleJitterConfig>(val[0]).base, (Size{512, 2048})) << name;
    EXPECT_EQ(std::get<ScaleJitterConfig>(val[0]).min, 1) << name;
    EXPECT_EQ(std::get<ScaleJitterConfig>(val[0]).max, 1) << name;
  }
  EXPECT_EQ(load("segmenter/b16_ade20k_64ep.yaml").loss.terms,  // rstrudel/segmenter takes torch's mean
            std::vector<LossTermConfig>{CrossEntropyConfig{}});
}

TEST(Experiment, EvaluationThatCannotBeIsRefusedAtOnce) {
  EXPECT_THROW(load_experiment("", {"eval.scales=[]"}), UsageError);
  EXPECT_THROW(load_experiment("", {"eval.window.size=8", "eval.window.stride=9"}), UsageError);
  EXPECT_THROW(load_experiment("", {"eval.window.size=[9,8]", "eval.window.stride=9"}), UsageError);
  EXPECT_NO_THROW(load_experiment("", {"eval.window.size=8", "eval.window.stride=8"}));
  EXPECT_NO_THROW(load_experiment("", {"eval.window.stride=8"}));
}

TEST(Experiment, ASampleIsMixedInOneWayAtMostAndNeedsAnother) {
  EXPECT_THROW(load_experiment("", {"train.mixup.alpha=0.2", "train.cutmix.alpha=1"}), UsageError);
  EXPECT_NO_THROW(load_experiment(
      "", {"train.mixup.alpha=0.2", "train.mixup.probability=0.5", "train.cutmix.alpha=1", "train.cutmix.probability=0.5"}));
  EXPECT_NO_THROW(load_experiment("", {"train.mixup.alpha=0.2"}));
  EXPECT_THROW(load_experiment("", {"train.mixup.alpha=0.2", "train.batch_size=1"}), UsageError);
}

// P8: one channel must not need more than to be asked for.
TEST(Experiment, MeanAndStdFollowTheNumberOfChannels) {
  const NormalizeConfig rgb = load_experiment("", {}).data.normalize,
                        grey = load_experiment("", {"data.channels=1"}).data.normalize;
  EXPECT_EQ(rgb.mode, NormalizeMode::kAuto);
  EXPECT_EQ(rgb.mean, (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(grey.mean, (std::vector<double>{0.449}));
  EXPECT_EQ(grey.std, (std::vector<double>{0.226}));
  const NormalizeConfig own = load_experiment("", {"data.channels=5", "data.normalize.mean=[0.1]"}).data.normalize;
  EXPECT_EQ(own.mean, (std::vector<double>{0.1}));
  EXPECT_EQ(own.std, (std::vector<double>{0.226}));
}

TEST(Experiment, ClassesThatOverlapHaveALossOfTheirOwn) {
  const std::vector<LossTermConfig> each{BinaryCrossEntropyConfig{}, DiceConfig{}};
  EXPECT_EQ(load_experiment("", {"data.labels.multi=true"}).loss.terms, each);
  EXPECT_EQ(load_experiment("", {"data.labels.multi=true", "loss.dice_weight=3"}).loss.terms,
            (std::vector<LossTermConfig>{BinaryCrossEntropyConfig{}, DiceConfig{.weight = 3}}));
  EXPECT_EQ(load_experiment("", {"data.labels.multi=true", "loss.terms=[focal]"}).loss.terms,
            (std::vector<LossTermConfig>{FocalConfig{}}));
  const Experiment first = load_experiment("", {"data.labels.multi=true", "data.labels.missing=empty", "eval.threshold=0.3"});
  EXPECT_EQ(experiment_yaml(read_experiment(parse_config(experiment_yaml(first), "printed"))), experiment_yaml(first));
}

TEST(Experiment, KeysThatDoNotGoWithOverlappingClassesAreRefused) {
  const auto message = [](std::vector<std::string> keys) {
    try {
      load_experiment("", keys);
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto expect = [&](const std::vector<std::string>& keys, const std::string& part) {
    EXPECT_NE(message(keys).find(part), std::string::npos) << message(keys);
  };
  expect({"data.labels.multi=true", "loss.terms=[ce, dice]"}, "loss.terms=[bce, dice]");
  expect({"data.labels.multi=true", "loss.type=ce"}, "loss.terms has ce");
  for (const char* key :
       {"data.labels.binary=true", "data.labels.offset=-1", "data.labels.map={1: 0}", "data.labels.colors=[[1,2,3]]"})
    expect({"data.labels.multi=true", key}, "everything else on; remove data.labels.");
  expect({"data.labels.multi=true", "data.classes=[cell, void]"}, "which pixels to ignore");
  expect({"data.labels.multi=true", "data.classes=[a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p]"}, "names 16 classes");
  expect({"data.labels.missing=empty"}, "is for data.labels.multi");
  expect({"eval.threshold=0.4"}, "the likeliest of its classes");
  EXPECT_EQ(message({"eval.threshold=0.4", "loss.terms=[bce]"}), "");
}

// A small U-Net on a base with a wide bottleneck would otherwise keep it, and with it most of the base's parameters.
TEST(Experiment, ABottleneckFollowsChannelsOfALaterLayer) {
  const testing::TempFolder folder;
  write_file(folder / "base.yaml", std::string_view("model: {unet: {channels: [32, 64], bottleneck: 256}}\n"));
  write_file(folder / "same.yaml", std::string_view("base: base.yaml\ntrain: {seed: 1}\n"));
  write_file(folder / "other.yaml", std::string_view("base: base.yaml\nmodel: {unet: {channels: [8, 16]}}\n"));
  const auto bottleneck = [&](const char* file, const std::vector<std::string>& overrides = {}) {
    return load_experiment(folder / file, overrides).model.unet.bottleneck;
  };
  EXPECT_EQ(bottleneck("same.yaml"), 256);
  EXPECT_EQ(bottleneck("other.yaml"), 0);
  EXPECT_EQ(bottleneck("same.yaml", {"model.unet.channels=[8,16]"}), 0);
  EXPECT_EQ(bottleneck("same.yaml", {"model.unet.channels=[8,16]", "model.unet.bottleneck=48"}), 48);
  EXPECT_EQ(bottleneck("same.yaml", {"model.unet.bottleneck=48"}), 48);
}

}  // namespace
}  // namespace tessera
