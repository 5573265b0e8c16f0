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
  expect_error("[ce, dise]", {"command line: loss.terms.1", "ce, bce, dice, focal, tversky, lovasz, ohem, boundary_ce",
                              "did you mean 'dice'?"});
  expect_error("[{dice: {smoth: 1}}]", {"loss.terms.0.dice.smoth", "did you mean 'smooth'?", "has: weight, smooth"});
  expect_error("[{dice: {smooth: 0}}]", {"loss.terms.0.dice.smooth expects a value above 0"});
  expect_error("[{focal: {label_smoothing: 0.1}}]",
               {"loss.terms.0.focal.label_smoothing", "has: weight, gamma, class_weights, mean"});
  expect_error("[{ce: {}, dice: {}}]", {"one entry 'name: {options}'"});
  expect_error("[]", {"loss.terms is empty", "[ce, dice]"});
  expect_error("[bce, dice, ce]", {"loss.terms has ce and bce"});
}

TEST(LossConfig, ATermComesTwiceOnlyWithOtherOptions) {
  EXPECT_NO_THROW(read("[ce, {ce: {class_weights: [1, 2]}}, {focal: {gamma: 1}}, {focal: {gamma: 3}}]"));
  expect_error("[{dice: {weight: 3}}, ce, dice]", {"loss.terms.0 and loss.terms.2 are both dice", "once, with weight 4"});
}

TEST(LossConfig, ClassWeightsAreNumbersOrAMethod) {
  const auto weights = [](const std::string& text) {
    return std::get<CrossEntropyConfig>(read("[{ce: {class_weights: " + text + "}}]").terms[0]).class_weights;
  };
  EXPECT_EQ(weights("[1, 2.5]"), (ClassWeights{1, 2.5}));
  EXPECT_EQ(weights("auto"), weights("median_frequency"));
  EXPECT_TRUE(weights("auto").to_be_counted());
  EXPECT_FALSE(weights("[]").to_be_counted());
  EXPECT_FALSE(weights("{inverse: {weights: [1, 2]}}").to_be_counted());
  EXPECT_EQ(weights("{inverse: {weights: [1, 2]}}").values(), (std::vector<double>{1, 2}));
  EXPECT_EQ(std::get<EffectiveNumber>(*weights("{effective_number: {beta: 0.9}}").method).beta, 0.9);
  expect_error("[{ce: {class_weights: medain_frequency}}]",
               {"loss.terms.0.ce.class_weights", "did you mean 'median_frequency'?"});
  expect_error("[{ce: {class_weights: [1, -1]}}]", {"loss.terms.0.ce.class_weights.1"});
  EXPECT_EQ(load_experiment("", {"loss.class_weights=auto"}).loss.terms, read("[{ce: {class_weights: auto}}]").terms);
  const Experiment e = load_experiment("", {"loss.terms=[{ce: {class_weights: {effective_number: {beta: 0.5}}}}]"});
  EXPECT_EQ(read_experiment(parse_config(experiment_yaml(e), "printed")).loss.terms, e.loss.terms);
}

TEST(LossConfig, HardPixelsHaveOneClassEach) {
  try {
    load_experiment("", {"data.labels.multi=true", "loss.terms=[bce, ohem]"});
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("use focal"), std::string::npos) << e.what();
  }
}

TEST(LossConfig, DeepSupervisionSharesOneAmongTheHeights) {
  const Experiment e = load_experiment("", {"model.unet.channels=[8, 8, 8, 8]", "model.unet.deep_supervision=2"});
  EXPECT_EQ(e.loss.aux_weight, 0.5);
  const std::vector<double> weights = output_weights(e, 2);  // nnU-Net's of three heights
  EXPECT_DOUBLE_EQ(weights[0], 1 / 1.75);
  EXPECT_DOUBLE_EQ(weights[1], 0.5 / 1.75);
  EXPECT_DOUBLE_EQ(weights[2], 0.25 / 1.75);
  EXPECT_EQ(output_weights(load_experiment("", {"model.name=pspnet"}), 1), (std::vector<double>{1, 0.4}));
  EXPECT_THROW(load_experiment("", {"model.unet.channels=[8, 8]", "model.unet.deep_supervision=2"}), UsageError);
  EXPECT_THROW(load_experiment("", {"model.unet.padding=valid", "model.unet.deep_supervision=1"}), UsageError);
  EXPECT_THROW(load_experiment("", {"model.unet_resnet.deep_supervision=5"}), UsageError);
}

TEST(LossConfig, BceMakesTheModelGiveOneLogit) {
  EXPECT_EQ(logit_channels(read("[dice, bce, focal]"), 2), 1);
  EXPECT_EQ(logit_channels(read("[ce, dice]"), 2), 2);
  EXPECT_EQ(logit_channels(read("[dice, focal]"), 7), 7);
}

}  // namespace
}  // namespace tessera
