#include "config/loss_config.h"

#include <gtest/gtest.h>

#include "config/experiment.h"
#include "core/error.h"

namespace tessera {
namespace {

LossConfig read(const std::string& terms) {
  return load_experiment("", {"loss.terms=" + terms}).loss;
}

void expect_error(const std::string& terms, const std::vector<std::string>& parts) {
  try {
    read(terms);
    ADD_FAILURE() << terms << " was taken";
  } catch (const UsageError& e) {
    for (const std::string& part : parts) EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(LossConfig, TermsAreReadWithTheirOptions) {
  const std::vector<LossTermConfig> expected{
      CrossEntropyConfig{.weight = 0.5, .class_weights = {1, 2}, .label_smoothing = 0.1, .mean = LossMean::kAll},
      DiceConfig{.weight = 3, .smooth = 1}, FocalConfig{.gamma = 1.5}};
  EXPECT_EQ(
      read("[{ce: {weight: 0.5, class_weights: [1, 2], label_smoothing: 0.1, mean: all}}, {dice: {weight: 3, smooth: 1}}, "
           "{focal: {gamma: 1.5}}]")
          .terms,
      expected);
  EXPECT_EQ(read("[ce, {dice: }]").terms, (std::vector<LossTermConfig>{CrossEntropyConfig{}, DiceConfig{}}));
  EXPECT_EQ(read("dice").terms, (std::vector<LossTermConfig>{DiceConfig{}}));  // one value stands for a list of one
  EXPECT_EQ(load_experiment("").loss.terms, (std::vector<LossTermConfig>{CrossEntropyConfig{}}));
}

TEST(LossConfig, OverridesReachIntoTheList) {
  const LossConfig config = load_experiment("", {"loss.terms=[ce, dice]", "loss.terms.1.dice.weight=3"}).loss;
  EXPECT_EQ(config.terms, (std::vector<LossTermConfig>{CrossEntropyConfig{}, DiceConfig{.weight = 3}}));
}

TEST(LossConfig, PrintedTermsReadBack) {
  const Experiment first = load_experiment(
      "", {"loss.terms=[{bce: {weight: 0.1, class_weights: [1, 1e-9]}}, {dice: {smooth: 1e-07}}, {focal: {mean: all}}, focal]",
           "loss.aux_weight=0.3"});
  const std::string text = experiment_yaml(first);
  const Experiment second = read_experiment(parse_config(text, "printed"));
  EXPECT_EQ(first.loss.terms, second.loss.terms);
  EXPECT_EQ(experiment_yaml(second), text);
  EXPECT_EQ(text.find("dice_weight"), std::string::npos);  // older keys are not written
}

TEST(LossConfig, MistakesNameWhatThereIs) {
  expect_error("[ce, dise]", {"command line: loss.terms.1", "ce, bce, dice, focal", "did you mean 'dice'?"});
  expect_error("[{dice: {smoth: 1}}]", {"loss.terms.0.dice.smoth", "did you mean 'smooth'?", "has: weight, smooth"});
  expect_error("[{dice: {smooth: 0}}]", {"loss.terms.0.dice.smooth expects a value above 0"});
  expect_error("[{focal: {label_smoothing: 0.1}}]", {"loss.terms.0.focal.label_smoothing", "has: weight, gamma, mean"});
  expect_error("[{ce: {}, dice: {}}]", {"one entry 'name: {options}'"});
  expect_error("[]", {"loss.terms is empty", "[ce, dice]"});
  expect_error("[bce, dice, ce]", {"loss.terms has ce and bce"});
}

TEST(LossConfig, ATermComesTwiceOnlyWithOtherOptions) {
  EXPECT_NO_THROW(read("[ce, {ce: {class_weights: [1, 2]}}, {focal: {gamma: 1}}, {focal: {gamma: 3}}]"));
  expect_error("[{dice: {weight: 3}}, ce, dice]", {"loss.terms.0 and loss.terms.2 are both dice", "once, with weight 4"});
}

TEST(LossConfig, BceMakesTheModelGiveOneLogit) {
  EXPECT_EQ(logit_channels(read("[dice, bce, focal]"), 2), 1);
  EXPECT_EQ(logit_channels(read("[ce, dice]"), 2), 2);
  EXPECT_EQ(logit_channels(read("[dice, focal]"), 7), 7);
}

}  // namespace
}  // namespace tessera
