#include "weights/maps/match.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/weight_files.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::weight_values;

NamedTensors small_model(int64_t classes = 3, int64_t channels = 3) {
  return {{"backbone.conv1.weight", at::zeros({4, channels, 2, 2}).requires_grad_()},
          {"backbone.bn1.running_mean", at::zeros({4})},
          {"decode_head.conv_seg.weight", at::zeros({classes, 4, 1, 1}).requires_grad_()}};
}

NamedTensors small_file() {
  return {{"backbone.conv1.weight", weight_values({4, 3, 2, 2}, 0)},
          {"backbone.bn1.running_mean", weight_values({4}, 1)},
          {"decode_head.conv_seg.weight", weight_values({3, 4, 1, 1}, 2)}};
}

const MatchOptions kHead{.head_prefixes = {"decode_head."}};

TEST(Match, CopiesEverythingIntoTheModelsOwnTensors) {
  const NamedTensors model = small_model();
  const MatchReport report = match_weights(model, small_file(), kHead, "f");
  EXPECT_EQ(report.summary(), "3 loaded, 0 reshaped, 0 reinitialised, 0 missing, 0 unused");
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(model[i].second.equal(small_file()[i].second));
  EXPECT_TRUE(model[0].second.requires_grad());
}

TEST(Match, HeadOfOtherClassesStaysFreshAndIsSaid) {
  const NamedTensors model = small_model(5);
  const MatchReport report = match_weights(model, small_file(), kHead, "f");
  EXPECT_EQ(report.count(MatchStatus::kReinitialised), 1U);
  EXPECT_CONTAINS(report.table(), "the file has (3, 4, 1, 1), the model (5, 4, 1, 1)");
  EXPECT_EQ(model[2].second.abs().sum().item<float>(), 0.0F);
}

TEST(Match, MissingOutsideTheHeadIsAnErrorUnlessAllowed) {
  NamedTensors file = small_file();
  file.erase(file.begin() + 1);
  const NamedTensors model = small_model();
  EXPECT_CONTAINS(message_of([&] { match_weights(model, file, kHead, "f"); }),
                  "1 of the model's 3 tensors are missing: backbone.bn1.running_mean");
  EXPECT_EQ(model[0].second.abs().sum().item<float>(), 0.0F);  // nothing was copied
  MatchOptions allowing = kHead;
  allowing.allow_missing = true;
  EXPECT_EQ(match_weights(model, file, allowing, "f").summary(), "2 loaded, 0 reshaped, 0 reinitialised, 1 missing, 0 unused");
}

// A ResNet with squeeze-and-excitation has all weights of a plain one, and computes something else.
TEST(Match, TensorsTooManyInAPartOfTheModelAreAnErrorUnlessAllowed) {
  NamedTensors file = small_file();
  file.emplace_back("backbone.layer1.0.se.fc1.weight", at::zeros({4}));
  file.emplace_back("neck.norm.weight", at::zeros({4}));  // of a part that the model does not have
  const NamedTensors model = small_model();
  EXPECT_CONTAINS(message_of([&] { match_weights(model, file, kHead, "f"); }),
                  "1 of its tensors have no place in the model, which would compute something else without them: "
                  "backbone.layer1.0.se.fc1.weight");
  EXPECT_EQ(model[0].second.abs().sum().item<float>(), 0.0F);  // nothing was copied
  MatchOptions allowing = kHead;
  allowing.allow_missing = true;
  const MatchReport report = match_weights(model, file, allowing, "f");
  EXPECT_EQ(report.count(MatchStatus::kUnused), 2U);
  EXPECT_TRUE(report.rows[3].within);
  EXPECT_FALSE(report.rows[4].within);
  MatchOptions knowing = kHead;
  knowing.unneeded = {"backbone.layer1.0.se."};
  EXPECT_EQ(match_weights(model, file, knowing, "f").count(MatchStatus::kLoaded), 3U);
}

// mmsegmentation's NonLocal head is an FCN head with more in it.
TEST(Match, HeadWithMoreInItForAsManyClassesIsAnError) {
  NamedTensors file = small_file();
  file.emplace_back("decode_head.nl_block.g.conv.weight", at::zeros({4}));
  EXPECT_CONTAINS(message_of([&] { match_weights(small_model(), file, kHead, "f"); }),
                  "1 of its head's tensors have no place in the model (decode_head.nl_block.g.conv.weight)");
  EXPECT_EQ(match_weights(small_model(5), file, kHead, "f").count(MatchStatus::kReinitialised), 1U);  // a fresh head anyway
  file.back() = {"auxiliary_head.conv_seg.weight", at::zeros({3, 4, 1, 1})};  // training's, in a model without one
  EXPECT_EQ(match_weights(small_model(), file, kHead, "f").count(MatchStatus::kLoaded), 3U);
}

TEST(Match, WholeHeadMayBeAbsentAndStrangersAreListed) {
  NamedTensors file = small_file();
  file.back() = {"fc.weight", at::zeros({10, 4})};
  const MatchReport report = match_weights(small_model(), file, kHead, "f");
  EXPECT_EQ(report.summary(), "2 loaded, 0 reshaped, 1 reinitialised, 0 missing, 1 unused");
  EXPECT_CONTAINS(report.table(), "unused         fc.weight  (10, 4)");
}

// mmsegmentation's DeepLabV3+ has decode_head.bottleneck.conv.weight where a head that is separable throughout has another.
TEST(Match, HeadForAsManyClassesWithOtherNamesIsAnErrorThatNamesThem) {
  NamedTensors model = small_model(), file = small_file();
  model.emplace_back("decode_head.bottleneck.depthwise_conv.conv.weight", at::zeros({4, 1, 3, 3}));
  file.emplace_back("decode_head.bottleneck.conv.weight", weight_values({4, 4, 3, 3}, 3));
  const std::string error = message_of([&] { match_weights(model, file, kHead, "f"); });
  EXPECT_CONTAINS(error, "its 3 classes are as many as the model's");
  EXPECT_CONTAINS(error, "no place in the model (decode_head.bottleneck.conv.weight)");
  EXPECT_CONTAINS(error, "not in it (decode_head.bottleneck.depthwise_conv.conv.weight)");
  EXPECT_EQ(model[0].second.abs().sum().item<float>(), 0.0F);  // nothing was copied

  MatchOptions allowing = kHead;
  allowing.allow_missing = true;
  EXPECT_EQ(match_weights(model, file, allowing, "f").summary(), "3 loaded, 0 reshaped, 1 reinitialised, 0 missing, 1 unused");

  // Made for other classes, the head has to be trained anew in any case; that more of it differs is said.
  model[2].second = at::zeros({5, 4, 1, 1});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(match_weights(model, file, kHead, "f").count(MatchStatus::kReinitialised), 2U);
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "no place in the model (decode_head.bottleneck.conv.weight)");
}

TEST(Match, HeadForAsManyClassesOfAnotherLibraryOrWidthIsAnError) {
  NamedTensors file = small_file();
  file.back() = {"classifier.4.weight", weight_values({3, 4, 1, 1}, 2)};
  EXPECT_CONTAINS(message_of([&] { match_weights(small_model(), file, kHead, "f"); }),
                  "no place in the model (classifier.4.weight)");
  file.back().second = weight_values({21, 4, 1, 1}, 2);
  EXPECT_EQ(match_weights(small_model(), file, kHead, "f").count(MatchStatus::kReinitialised), 1U);
  file = small_file();
  file.back().second = weight_values({3, 8, 1, 1}, 2);
  EXPECT_CONTAINS(message_of([&] { match_weights(small_model(), file, kHead, "f"); }),
                  "1 of its head's tensors have another shape (decode_head.conv_seg.weight)");
}

// An auxiliary head that only one of the two has is no other head.
TEST(Match, AuxiliaryHeadMayComeOrGo) {
  const MatchOptions both{.head_prefixes = {"decode_head.", "auxiliary_head."}};
  NamedTensors larger = small_model(), larger_file = small_file();
  larger.emplace_back("auxiliary_head.conv_seg.weight", at::zeros({3, 4, 1, 1}));
  larger_file.emplace_back("auxiliary_head.conv_seg.weight", at::zeros({3, 4, 1, 1}));
  EXPECT_EQ(match_weights(larger, small_file(), both, "f").count(MatchStatus::kReinitialised), 1U);
  EXPECT_EQ(match_weights(small_model(), larger_file, both, "f").count(MatchStatus::kUnused), 1U);
}

TEST(Match, NanAndInfinityAreSaidWithTheirTensors) {
  NamedTensors file = small_file();
  file[0].second[1][2][0][1] = std::numeric_limits<float>::quiet_NaN();
  file[1].second = at::tensor({1e300, 0.0, 0.0, 0.0}, at::kDouble);  // infinite once it is a float
  ::testing::internal::CaptureStderr();
  match_weights(small_model(), file, kHead, "f");
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(),
                  "2 tensors hold NaN or infinity: backbone.conv1.weight, backbone.bn1.running_mean");
  file = small_file();
  file[1].second = at::full({4}, 3e38F);  // finite, though their sum is not
  ::testing::internal::CaptureStderr();
  match_weights(small_model(), file, kHead, "f");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Match, WholeNumbersInPlaceOfWeightsAreRefused) {
  NamedTensors file = small_file();
  file[0].second = at::ones({4, 3, 2, 2}, at::kChar);
  const NamedTensors model = small_model();
  EXPECT_CONTAINS(message_of([&] { match_weights(model, file, kHead, "f"); }),
                  "1 tensors are not of floating point, as the model's are: backbone.conv1.weight (Char)");
  EXPECT_EQ(model[1].second.abs().sum().item<float>(), 0.0F);  // nothing was copied
  file[0].second = at::ones({4, 3, 2, 2}, at::kHalf);
  EXPECT_EQ(match_weights(model, file, kHead, "f").count(MatchStatus::kLoaded), 3U);
}

TEST(Match, NothingInCommonOrAMisfitIsAlwaysAnError) {
  MatchOptions allowing = kHead;
  allowing.allow_missing = true;
  EXPECT_CONTAINS(message_of([&] {
                    match_weights(small_model(), {{"x", at::zeros({1})}}, allowing, "f");
                  }),
                  "none of its 1 tensors");
  NamedTensors file = small_file();
  file[1].second = at::zeros({8});
  EXPECT_CONTAINS(message_of([&] { match_weights(small_model(), file, allowing, "f"); }), "the file has (8), the model (4)");
}

TEST(Match, InputChannelsAreSummedOrRepeated) {
  const at::Tensor old = weight_values({4, 3, 2, 2}, 0);
  const NamedTensors grey = small_model(3, 1);
  const MatchReport report = match_weights(grey, small_file(), kHead, "f");
  EXPECT_EQ(report.count(MatchStatus::kReshaped), 1U);
  EXPECT_TRUE(grey[0].second.allclose(old.sum(1, true)));
  const NamedTensors five = small_model(3, 5);
  match_weights(five, small_file(), kHead, "f");
  for (int64_t i = 0; i < 5; ++i) EXPECT_TRUE(five[0].second.select(1, i).allclose(old.select(1, i % 3) * 3 / 5)) << i;
}

TEST(Match, PositionsAreResizedAndPrefixTokensKept) {
  const auto load = [](const at::Tensor& from, int64_t tokens, MatchOptions options) {
    const NamedTensors model{{"encoder.pos_embed", at::zeros({1, tokens, from.size(2)})}};
    match_weights(model, {{"encoder.pos_embed", from}}, options, "f");
    return model[0].second;
  };
  // A 2x2 grid with values 0 1 / 2 3 after a class token of 9. Bilinear to 4x4 (half-pixel centres): the first row is
  // 0, 0.25, 0.75, 1.
  const at::Tensor from = at::tensor({9.0F, 0.0F, 1.0F, 2.0F, 3.0F}).view({1, 5, 1});
  const at::Tensor bilinear = load(from, 17, {.position_fit = PositionFit::kBilinear}).flatten();
  EXPECT_TRUE(bilinear.slice(0, 0, 5).allclose(at::tensor({9.0F, 0.0F, 0.25F, 0.75F, 1.0F})));
  // Not square: 1 x 2 cells, each the mean of a column under bilinear halving.
  const at::Tensor flat = load(from, 3, {.position_fit = PositionFit::kBilinear, .position_grid = {1, 2}}).flatten();
  EXPECT_TRUE(flat.allclose(at::tensor({9.0F, 1.0F, 2.0F})));
  // Distilled (2 tokens first) to plain: the second token goes.
  const at::Tensor distilled = at::tensor({9.0F, 8.0F, 0.0F, 1.0F, 2.0F, 3.0F}).view({1, 6, 1});
  EXPECT_TRUE(load(distilled, 5, {}).flatten().equal(from.flatten()));
  const at::Tensor bicubic = load(from, 17, {}).flatten();
  EXPECT_EQ(bicubic[0].item<float>(), 9.0F);
  EXPECT_NEAR(bicubic.slice(0, 1).mean().item<float>(), 1.5F, 1e-5);
}

}  // namespace
}  // namespace tessera
