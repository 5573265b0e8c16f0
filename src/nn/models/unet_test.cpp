#include "nn/models/unet.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"

namespace tessera {
namespace {

ModelConfig coco_reference(std::vector<int64_t> channels, std::vector<int64_t> convs) {
  ModelConfig config;
  config.unet = {.channels = std::move(channels),
                 .convs = std::move(convs),
                 .batch_norm = false,
                 .up = UpPath::kDilated,
                 .skips = Skips::kInner};
  return config;
}

int64_t parameters(const ModelConfig& config, int64_t in_channels, int64_t classes) {
  return count_parameters(*make_model(config, {in_channels, classes}, 1));
}

// The suite of the COCO reference, 12 classes.
TEST(UNet, ParameterCountsOfTheCocoReference) {
  EXPECT_EQ(parameters(coco_reference({16, 16, 16, 16}, {4}), 3, 12), 116516);
  EXPECT_EQ(parameters(coco_reference({16, 32, 32, 32}, {4}), 3, 12), 414284);
  EXPECT_EQ(parameters(coco_reference({32, 32, 48, 48}, {4}), 3, 12), 856668);
  EXPECT_EQ(parameters(coco_reference({48, 48, 64, 64}, {4}), 3, 12), 1591796);
  EXPECT_EQ(parameters(coco_reference({64, 64, 64, 64}, {4, 6, 6, 6, 10}), 3, 12), 3177068);
  EXPECT_EQ(parameters(coco_reference({64, 64, 96, 96}, {6, 8, 8, 8, 8}), 3, 12), 6520236);
  EXPECT_EQ(parameters(coco_reference({16, 32, 32, 32}, {2}), 3, 12), 220172);
  EXPECT_EQ(parameters(coco_reference({64, 128, 256, 512}, {2}), 3, 12), 34477196);
}

TEST(UNet, ParameterCountOfTheMicroscopyReference) {
  ModelConfig config;
  config.unet.channels = {8, 16, 32, 64};
  EXPECT_EQ(parameters(config, 1, 1), 487145);
}

TEST(UNet, EveryFormKeepsTheFrameAtOddSizesAndLearns) {
  for (const UpPath up : {UpPath::kTransposed, UpPath::kDilated, UpPath::kBilinear}) {
    for (const bool norm : {false, true}) {
      ModelConfig config;
      config.unet = {.channels = {4, 6}, .convs = {1, 2, 1}, .batch_norm = norm, .up = up};
      const ModelPtr model = make_model(config, {3, 5}, 7);
      const at::Tensor logits = model->forward(torch::rand({2, 3, 37, 50})).logits();
      EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{2, 5, 37, 50}));
      logits.square().mean().backward();
      for (const auto& item : model->named_parameters()) EXPECT_TRUE(item.value().grad().defined()) << item.key();
    }
  }
}

// The classic valid U-Net: 572 in, 388 out.
TEST(UNet, ValidPaddingCoversTheCentre) {
  ModelConfig config;
  config.unet = {.channels = {2, 2, 2, 2}, .padding = ConvPadding::kValid, .batch_norm = false};
  const ModelPtr model = make_model(config, {1, 2}, 7);
  EXPECT_EQ(model->covered(572), 388);
  EXPECT_EQ(model->forward(torch::rand({1, 1, 572, 188})).logits().sizes(),
            (std::vector<int64_t>{1, 2, 388, model->covered(188)}));
  EXPECT_THROW(model->covered(100), Error);
}

// A transposed convolution with stride 2 and these paddings is a convolution over the input with zeros put between.
TEST(UNet, DilatedUpPathIsAConvolutionOverTheSpreadInput) {
  torch::manual_seed(3);
  const at::Tensor x = torch::randn({1, 2, 4, 5}, torch::kDouble), weight = torch::randn({2, 3, 3, 3}, torch::kDouble);
  const at::Tensor up = at::conv_transpose2d(x, weight, {}, 2, 1, 1);
  at::Tensor spread = torch::zeros({1, 2, 7, 9}, torch::kDouble);
  spread.slice(2, 0, 7, 2).slice(3, 0, 9, 2).copy_(x);
  const at::Tensor expected = at::conv2d(at::constant_pad_nd(spread, {1, 2, 1, 2}), weight.transpose(0, 1).flip({2, 3}));
  EXPECT_TRUE(torch::allclose(up, expected, 1e-12, 1e-12));
}

TEST(Models, WeightsAreAFunctionOfSeedAndName) {
  const ModelConfig config;
  const ModelPtr a = make_model(config, {3, 2}, 5), b = make_model(config, {3, 2}, 5), c = make_model(config, {3, 2}, 6);
  EXPECT_TRUE(a->parameters()[0].equal(b->parameters()[0]));
  EXPECT_FALSE(a->parameters()[0].equal(c->parameters()[0]));
}

TEST(Models, UnknownNameAnswersWithTheKnownOnes) {
  ModelConfig config;
  config.name = "unett";
  try {
    make_model(config, {}, 0);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_EQ(std::string(e.what()).find("unknown model 'unett', did you mean 'unet'?; known: deeplabv3, "), 0U) << e.what();
  }
}

}  // namespace
}  // namespace tessera
