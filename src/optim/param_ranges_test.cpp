#include "optim/param_ranges.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

const std::vector<ParamSpan> kSpans = {{"conv1.weight", 0, 10, false, false}, {"conv2.weight", 16, 4, false, false},
                                       {"bn.weight", 20, 2, true, false},     {"bn.bias", 22, 2, true, false},
                                       {"head.weight", 24, 6, false, true},   {"head.bias", 30, 1, true, true}};

TEST(ParamRanges, NormAndBiasDoNotDecayAndPaddingJoins) {
  OptimizerConfig config;
  config.weight_decay = 0.1;
  config.head_lr_multiplier = 10;
  const std::vector<ParamRange> expected = {{0, 20, 1, 0.1}, {20, 24, 1, 0}, {24, 30, 10, 0.1}, {30, 31, 10, 0}};
  EXPECT_EQ(make_ranges(kSpans, config), expected);
}

TEST(ParamRanges, EqualTreatmentIsOneRange) {
  OptimizerConfig config;
  config.weight_decay = 0.1;
  config.decay_norm_and_bias = true;
  EXPECT_EQ(make_ranges(kSpans, config), (std::vector<ParamRange>{{0, 31, 1, 0.1}}));
}

TEST(ParamRanges, LambMeasuresEachTensorAndTakesTheRatioWhereItDecays) {
  OptimizerConfig config;
  config.type = OptimizerType::kLamb;
  config.weight_decay = 0.1;
  const std::vector<ParamRange> expected = {{0, 10, 1, 0.1, true}, {16, 20, 1, 0.1, true}, {20, 22, 1, 0, false},
                                            {22, 24, 1, 0, false}, {24, 30, 1, 0.1, true}, {30, 31, 1, 0, false}};
  EXPECT_EQ(make_ranges(kSpans, config), expected);
}

TEST(ParamRanges, TheLongestNamedPartSetsTheRate) {
  OptimizerConfig config;
  config.decay_norm_and_bias = true;
  config.head_lr_multiplier = 10;
  config.lr_multipliers = {{"head", 0.5}, {"head.bias", 2}, {"bn", 0}};
  const std::vector<ParamRange> expected = {{0, 20, 1, 0}, {20, 24, 0, 0}, {24, 30, 5, 0}, {30, 31, 20, 0}};
  EXPECT_EQ(make_ranges(kSpans, config), expected);
  config.lr_multipliers = {{"conv", 0.5}};  // conv1 and conv2 are parts, conv is none
  EXPECT_THROW(check_parts(kSpans, config), UsageError);
  config.lr_multipliers = {{"conv1", 0.5}};
  EXPECT_NO_THROW(check_parts(kSpans, config));
  const std::vector<ParamSpan> head(kSpans.begin() + 4, kSpans.end());  // as a rank of ZeRO-1 may have it
  EXPECT_EQ(make_ranges(head, config), (std::vector<ParamRange>{{24, 31, 10, 0}}));
}

TEST(ParamRanges, OverlapIsRefused) {
  EXPECT_THROW(make_ranges({{"a", 0, 4, false, false}, {"b", 3, 4, false, false}}, {}), Error);
}

}  // namespace
}  // namespace tessera
