#include "nn/backbones/vit.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "nn/model.h"
#include "support/fixtures.h"
#include "support/made_values.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

VitOptions tiny() {
  VitOptions options;
  options.patch = 8;
  options.layers = 2;
  options.transformer.width = 48;
  options.transformer.heads = 3;
  options.image_size = {40, 48};
  return options;
}

void expect_timm() {
  const nlohmann::json fixture = testing::load_fixture("vit.json");
  ASSERT_FALSE(fixture.at("timm").empty());
  for (const auto& row : fixture.at("timm")) {
    for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-10}, std::pair{at::kFloat, 1e-4}}) {
      VitOptions options = tiny();
      options.distilled = row.at("distilled");
      Vit vit(options);
      vit->to(type);
      testing::fill_made(*vit);
      const at::Tensor x = testing::made({2, 3, row.at("size")[0], row.at("size")[1]}, 7, 4.0, type);
      const at::Tensor tokens = vit(x);
      testing::expect_picked(tokens, row.at("tokens"), tolerance, "tokens");
      testing::expect_gradients(*vit, tokens, row.at("gradients"), tolerance);
      EXPECT_TRUE(torch::allclose(vit->patches(x), tokens.slice(1, vit->prefix()), 0, tolerance));
    }
  }
}

TEST(Vit, AgreesWithTimmAtOddSizes) {
  expect_timm();
}

TEST(Vit, AgreesWithTimmWithFusedKernels) {
  const FusedTransformerGuard fused;
  expect_timm();
}

// timm's counts at 224 pixels, less the head of 1000 classes (1000 x width + 1000).
TEST(Vit, ParameterCountsOfTimm) {
  const auto count = [](VitBackbone backbone, bool distilled) {
    VitOptions options = vit_options(backbone);
    options.image_size = {224, 224};
    options.distilled = distilled;
    return count_parameters(*Vit(options));
  };
  EXPECT_EQ(count(VitBackbone::kTi16, false), 5717416 - 193000);
  EXPECT_EQ(count(VitBackbone::kS16, false), 22050664 - 385000);
  EXPECT_EQ(count(VitBackbone::kS32, false), 22878952 - 385000);
  EXPECT_EQ(count(VitBackbone::kB8, false), 86576872 - 769000);
  EXPECT_EQ(count(VitBackbone::kB16, false), 86567656 - 769000);
  EXPECT_EQ(count(VitBackbone::kTi16, true), 5910800 - 2 * 193000);  // DeiT: a second token and a second head
}

TEST(Vit, DropoutAndDropPathBelongToTheSample) {
  torch::manual_seed(1);
  VitOptions options = tiny();
  options.transformer.dropout = 0.2;
  options.transformer.attention_dropout = 0.1;
  options.transformer.drop_path = 0.5;
  Vit vit(options);
  vit->to(at::kDouble);
  number_random_layers(*vit);
  const at::Tensor x = torch::randn({3, 3, 40, 48}, at::kDouble);
  const auto run = [&](const at::Tensor& images, const std::vector<int64_t>& ids) {
    const StepContextGuard context({.sample_keys = sample_keys(3, 5, ids)});
    return vit(images);
  };
  const at::Tensor together = run(x, {11, 4, 9});
  EXPECT_TRUE(torch::allclose(together.slice(0, 1, 2), run(x.slice(0, 1, 2), {4}), 1e-12, 1e-12));
  EXPECT_FALSE(torch::allclose(together.slice(0, 1, 2), run(x.slice(0, 1, 2), {5}), 1e-3, 1e-3));
  vit->eval();
  EXPECT_TRUE(torch::allclose(vit(x), vit(x), 0, 0));
}

// The first of three layers never drops; the others, at 0.25 and 0.5, drop a branch of some samples.
TEST(Vit, DropPathRisesFromZero) {
  torch::nn::ModuleList list;
  auto blocks = stack_blocks(list, 3, {.width = 8, .heads = 2, .mlp_width = 16, .drop_path = 0.5});
  number_random_layers(*list);
  const StepContextGuard context({.sample_keys = torch::arange(64)});
  const at::Tensor x = torch::randn({64, 2, 8});
  for (size_t i = 0; i < blocks.size(); ++i) {
    const at::Tensor y = blocks[i](x);
    blocks[i]->eval();
    EXPECT_EQ(torch::allclose(y, blocks[i](x), 1e-5, 1e-5), i == 0) << i;
  }
}

TEST(Vit, AttentionAndFeaturesLieOnTheGrid) {
  Vit vit(tiny());
  const at::Tensor x = torch::randn({2, 3, 37, 50});
  const at::Tensor weights = vit->attention(x, 1);
  EXPECT_EQ(weights.sizes(), (std::vector<int64_t>{2, 3, 1 + 35, 1 + 35}));
  EXPECT_TRUE(torch::allclose(weights.sum(-1), torch::ones({2, 3, 36}), 1e-5, 1e-5));
  EXPECT_THROW(vit->attention(x, 2), Error);
  const Tensors state = run_segments(vit->layer_segments("", {0, 1}), {x});
  ASSERT_EQ(state.size(), 3U);
  EXPECT_EQ(vit->feature_map(state[1], state[0]).sizes(), (std::vector<int64_t>{2, 48, 5, 7}));
  EXPECT_THROW(vit->layer_segments("", {1, 0}), Error);
  EXPECT_THROW(vit->layer_segments("", {2}), Error);
}

// A feature of the first of two layers is the same whether the second runs or not.
TEST(Vit, LayersBehindTheLastOneAskedForDoNotRun) {
  Vit vit(tiny());
  const at::Tensor x = torch::randn({1, 3, 40, 48});
  const std::vector<Segment> segments = vit->layer_segments("", {0});
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(segments[2].parts, std::vector<std::string>{"blocks.1"});
  const Tensors early = run_segments(segments, {x}), both = run_segments(vit->layer_segments("", {0, 1}), {x});
  ASSERT_EQ(early.size(), 2U);
  EXPECT_TRUE(early[1].equal(both[1]));
}

TEST(Vit, DepthsRunFromTheEmbeddingToTheLastNorm) {
  const std::vector<Segment> segments = Vit(tiny())->patch_segments("encoder.");
  ASSERT_EQ(segments.size(), 4U);
  for (size_t i = 0; i < segments.size(); ++i) EXPECT_EQ(segments[i].depth, static_cast<int64_t>(i)) << segments[i].name;
  EXPECT_EQ(segments[0].name, "encoder.embedding");
  EXPECT_EQ(segments[2].name, "encoder.blocks.1");
}

TEST(Vit, HeadsMustDivideTheWidth) {
  VitOptions options = tiny();
  options.transformer.heads = 5;
  EXPECT_THROW(Vit{options}, Error);
}

}  // namespace
}  // namespace tessera
