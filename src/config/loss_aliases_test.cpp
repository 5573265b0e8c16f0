#include "config/loss_aliases.h"

#include <gtest/gtest.h>

#include "config/experiment.h"
#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

using Terms = std::vector<LossTermConfig>;
using testing::TempFolder;

Terms read(const std::vector<std::string>& overrides) {
  return load_experiment("", overrides).loss.terms;
}

std::string error_of_loss(const fs::path& file, const std::vector<std::string>& overrides) {
  try {
    load_experiment(file, overrides);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(LossAliases, EachTypeIsItsTerms) {
  EXPECT_EQ(read({"loss.type=ce"}), (Terms{CrossEntropyConfig{}}));
  EXPECT_EQ(read({"loss.type=dice"}), (Terms{DiceConfig{}}));
  EXPECT_EQ(read({"loss.type=ce_dice"}), (Terms{CrossEntropyConfig{}, DiceConfig{}}));
  EXPECT_EQ(read({"loss.type=focal"}), (Terms{FocalConfig{}}));
  EXPECT_EQ(read({"loss.type=bce"}), (Terms{BinaryCrossEntropyConfig{}}));
  EXPECT_EQ(read({"loss.type=bce_dice"}), (Terms{BinaryCrossEntropyConfig{}, DiceConfig{}}));
}

TEST(LossAliases, OptionsGoToTheTermsThatHaveThem) {
  const std::vector<std::string> all{"loss.mean=all",     "loss.class_weights=[1,2]", "loss.label_smoothing=0.1",
                                     "loss.ce_weight=3",  "loss.dice_weight=4",       "loss.focal_gamma=5",
                                     "loss.dice_smooth=6"};
  const auto with = [&](const char* type) {
    std::vector<std::string> overrides = all;
    overrides.push_back(std::string("loss.type=") + type);
    return read(overrides);
  };
  CrossEntropyConfig ce{.weight = 3, .class_weights = {1, 2}, .label_smoothing = 0.1, .mean = LossMean::kAll};
  const DiceConfig dice{.weight = 4, .smooth = 6};
  EXPECT_EQ(with("ce_dice"), (Terms{ce, dice}));
  EXPECT_EQ(with("bce_dice"), (Terms{BinaryCrossEntropyConfig{ce}, dice}));
  ce.weight = 1;  // ce_weight and dice_weight are for the types of two terms
  EXPECT_EQ(with("ce"), (Terms{ce}));
  EXPECT_EQ(with("bce"), (Terms{BinaryCrossEntropyConfig{ce}}));
  EXPECT_EQ(read({"loss.type=dice", all[4], all[6]}), (Terms{DiceConfig{.smooth = 6}}));
  EXPECT_EQ(read({"loss.type=focal", all[0], all[5]}), (Terms{FocalConfig{.gamma = 5, .mean = LossMean::kAll}}));
}

TEST(LossAliases, OptionsWithoutATermAreRefused) {
  EXPECT_NE(error_of_loss("", {"loss.type=focal", "loss.class_weights=[1,2]"}).find("loss.type focal has none"),
            std::string::npos);
  EXPECT_NE(error_of_loss("", {"loss.type=dice", "loss.label_smoothing=0.1"}).find("loss.type dice has none"),
            std::string::npos);
  EXPECT_NE(error_of_loss("", {"loss.type=dice", "loss.mean=all"}).find("loss.mean=all is for a mean"), std::string::npos);
  EXPECT_NE(error_of_loss("", {"loss.type=cee"}).find("did you mean 'ce'?"), std::string::npos);
  EXPECT_NE(error_of_loss("", {"loss.tipe=ce"}).find("did you mean 'type'?"), std::string::npos);
  EXPECT_NE(error_of_loss("", {"loss.dice_smooth=0"}).find("loss.dice_smooth expects a value above 0"), std::string::npos);
}

// As every run before loss.terms wrote it.
TEST(LossAliases, AnOldRunsConfigIsTheSameExperiment) {
  const Experiment old_run = read_experiment(
      parse_config("loss:\n  type: bce_dice\n  mean: labelled\n  ce_weight: 0.375\n  dice_weight: 1.125\n  class_weights: []\n"
                   "  label_smoothing: 0.1\n  focal_gamma: 2\n  dice_smooth: 1e-05\n  aux_weight: 0.4\n",
                   "config.yaml"));
  const Experiment now = load_experiment(
      "", {"loss.terms=[{bce: {weight: 0.375, label_smoothing: 0.1}}, {dice: {weight: 1.125}}]", "loss.aux_weight=0.4"});
  EXPECT_EQ(experiment_yaml(old_run), experiment_yaml(now));
  EXPECT_EQ(experiment_yaml(read_experiment(parse_config(experiment_yaml(old_run), "written"))), experiment_yaml(now));
}

TEST(LossAliases, BesideTermsTheyMayOnlyRepeatThem) {
  EXPECT_EQ(read({"loss.terms=[ce, {dice: {weight: 3}}]", "loss.type=ce_dice", "loss.dice_weight=3"}),
            (Terms{CrossEntropyConfig{}, DiceConfig{.weight = 3}}));
  for (const char* key : {"loss.type=dice", "loss.ce_weight=2", "loss.class_weights=[1,2]", "loss.mean=all"}) {
    const std::string error = error_of_loss("", {"loss.terms=[ce, dice]", key});
    EXPECT_NE(error.find("and loss.terms (command line) say different things; remove loss."), std::string::npos) << error;
    EXPECT_NE(error.find("loss.terms.0.ce.weight"), std::string::npos) << error;
  }
  const TempFolder folder;
  write_file(folder / "a.yaml", std::string_view("loss:\n  terms: [ce, focal]\n  type: ce\n  focal_gamma: 1\n"));
  const std::string error = error_of_loss(folder / "a.yaml", {});
  EXPECT_NE(error.find("a.yaml:3: loss.type, loss.focal_gamma and loss.terms ("), std::string::npos) << error;
  EXPECT_NE(error.find("a.yaml:2) say different things; remove loss.type, loss.focal_gamma"), std::string::npos) << error;
  EXPECT_NE(error_of_loss("", {"loss.terms=[]", "loss.type=ce"}).find("loss.terms is empty"), std::string::npos);
}

// base < file < command line, for both forms.
TEST(LossAliases, TheLaterFormCounts) {
  const TempFolder folder;
  write_file(folder / "old.yaml", std::string_view("loss: {type: ce_dice, mean: all, dice_weight: 3}\n"));
  write_file(folder / "new.yaml", std::string_view("loss: {terms: [{ce: {mean: all}}, {dice: {weight: 3}}]}\n"));
  write_file(folder / "new_on_old.yaml", std::string_view("base: old.yaml\nloss: {terms: [focal]}\n"));
  write_file(folder / "old_on_new.yaml", std::string_view("base: new.yaml\nloss: {type: bce_dice}\n"));
  const auto load = [&](const char* file, const std::vector<std::string>& overrides = {}) {
    return load_experiment(folder / file, overrides).loss.terms;
  };
  const CrossEntropyConfig ce{.mean = LossMean::kAll};
  const DiceConfig dice{.weight = 3};
  for (const char* same : {"old.yaml", "new.yaml"}) {
    EXPECT_EQ(load(same), (Terms{ce, dice}));
    EXPECT_EQ(load(same, {"loss.type=bce"}), (Terms{BinaryCrossEntropyConfig{ce}}));
    EXPECT_EQ(load(same, {"loss.type=focal"}), (Terms{FocalConfig{.mean = LossMean::kAll}}));
    EXPECT_EQ(load(same, {"loss.class_weights=[1,2]"}),
              (Terms{CrossEntropyConfig{.class_weights = {1, 2}, .mean = LossMean::kAll}, dice}));
    EXPECT_EQ(load(same, {"loss.terms=[ce]"}), (Terms{CrossEntropyConfig{}}));
  }
  EXPECT_EQ(load("new_on_old.yaml"), (Terms{FocalConfig{}}));
  EXPECT_EQ(load("new_on_old.yaml", {"loss.terms=null"}), (Terms{ce, dice}));
  EXPECT_EQ(load("old_on_new.yaml"), (Terms{BinaryCrossEntropyConfig{ce}, dice}));
  EXPECT_EQ(load("old_on_new.yaml", {"loss.type=null"}), (Terms{ce, dice}));
  write_file(folder / "three.yaml", std::string_view("loss: {terms: [ce, dice, focal]}\n"));
  EXPECT_NE(error_of_loss(folder / "three.yaml", {"loss.type=ce"}).find("command line: loss.type and loss.terms ("),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
