#include "nn/backbones/resnet.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "nn/model.h"
#include "support/fixtures.h"
#include "support/model_parity.h"

namespace tessera {
namespace {

// torchvision's counts less the classifier's (512 or 2048 x 1000 + 1000).
TEST(ResNet, ParameterCounts) {
  const std::vector<std::pair<std::string, int64_t>> counts = {
      {"resnet18", 11176512},         {"resnet34", 21284672},        {"resnet50", 23508032},
      {"resnet101", 42500160},        {"resnet152", 58143808},       {"resnext50_32x4d", 22979904},
      {"resnext101_32x8d", 86742336}, {"wide_resnet50_2", 66834240}, {"wide_resnet101_2", 124837696}};
  EXPECT_EQ(backbone_names().size(), counts.size());
  for (const auto& [name, count] : counts) {
    EXPECT_EQ(count_parameters(*make_backbone({.name = name}, 3, 32)), count) << name;
  }
}

void expect_torchvision(const std::string& fixture, const std::string& name, const BackboneConfig& config) {
  const BackbonePtr model = make_backbone(config, 3, 32);
  testing::expect_parity(testing::load_fixture(fixture)["cases"][name], *model,
                         [&](const at::Tensor& x) { return std::vector{model->forward(x).stages.back()}; });
}

TEST(ResNet, BasicBlocksEqualTorchvision) {
  expect_torchvision("torchvision_models.json", "resnet18", {.name = "resnet18"});
}

TEST(ResNet, DilatedBottlenecksEqualTorchvision) {
  expect_torchvision("torchvision_models.json", "resnet50_os8", {.name = "resnet50", .output_stride = 8});
}

TEST(ResNet, GroupedConvolutionsEqualTorchvision) {
  expect_torchvision("torchvision_models.json", "resnext50_os16", {.name = "resnext50_32x4d", .output_stride = 16});
}

TEST(ResNet, DilationCanStartInTheFirstBlock) {
  expect_torchvision("torchvision_models.json", "resnet50_os16_full",
                     {.name = "resnet50", .output_stride = 16, .dilation = DilationStyle::kFull});
}

TEST(ResNet, DilationOfEveryConvolutionEqualsSmp) {
  expect_torchvision("smp_models.json", "encoder_resnet18_os8",
                     {.name = "resnet18", .output_stride = 8, .dilation = DilationStyle::kEveryConv});
}

TEST(ResNet, StagesHaveTheStridesAskedFor) {
  const std::vector<std::vector<int64_t>> strides = {{4, 8, 8, 8}, {4, 8, 16, 16}, {4, 8, 16, 32}};
  for (size_t i = 0; i < strides.size(); ++i) {
    const BackbonePtr model = make_backbone({.name = "resnet18", .stem = Stem::kDeep}, 5, int64_t{8} << i);
    const Features features = model->forward(torch::rand({1, 5, 65, 33}));
    EXPECT_EQ(features.stem.sizes(), (std::vector<int64_t>{1, 64, 33, 17}));
    for (size_t n = 0; n < 4; ++n) {
      const int64_t stride = strides[i][n];
      EXPECT_EQ(features.stages[n].sizes(),
                (std::vector<int64_t>{1, model->stage_channels()[n], 64 / stride + 1, 32 / stride + 1}));
    }
  }
}

// mmsegmentation's V1d: a stride in the shortcut is a pooling; names as in its Sequential.
TEST(ResNet, AverageShortcutsPoolAndKeepTheShapes) {
  const BackbonePtr plain = make_backbone({.name = "resnet18", .width = 8}, 3, 32),
                    pooled = make_backbone({.name = "resnet18", .width = 8, .shortcut = Shortcut::kAverage}, 3, 32);
  EXPECT_EQ(count_parameters(*plain), count_parameters(*pooled));
  plain->eval();  // statistics stay 0 and 1
  pooled->eval();
  const at::Tensor x = torch::rand({2, 3, 75, 43});
  const Features a = plain->forward(x), b = pooled->forward(x);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(a.stages[i].sizes(), b.stages[i].sizes());
  // With the branch switched off the first block of stage 2 is ReLU(norm(1x1(mean of 2 x 2))).
  const at::NoGradGuard no_grad;
  auto parameters = pooled->named_parameters();
  parameters["layer2.0.bn2.weight"].zero_();
  parameters["layer2.1.bn2.weight"].zero_();
  const Features c = pooled->forward(x.slice(2, 0, 64).slice(3, 0, 32));
  const at::Tensor expected =
      at::conv2d(at::avg_pool2d(c.stages[0], 2), parameters["layer2.0.downsample.1.weight"]) / std::sqrt(1 + 1e-5);
  EXPECT_TRUE(torch::allclose(c.stages[1], expected.relu(), 1e-4, 1e-5));
}

TEST(ResNet, FrozenStagesKeepWeightsAndStatistics) {
  const BackbonePtr model = make_backbone({.name = "resnet18", .freeze_stages = 1}, 3, 32);
  model->train();
  const auto statistics = model->named_buffers();
  const at::Tensor frozen = statistics["layer1.0.bn1.running_mean"].clone();
  model->forward(torch::rand({2, 3, 32, 32})).stages.back().sum().backward();
  for (const auto& item : model->named_parameters()) {
    const std::string& name = item.key();
    const bool is_frozen = name.starts_with("conv1") || name.starts_with("bn1") || name.starts_with("layer1");
    EXPECT_EQ(item.value().grad().defined(), !is_frozen) << name;
  }
  EXPECT_TRUE(statistics["layer1.0.bn1.running_mean"].equal(frozen));
  EXPECT_GT(statistics["layer2.0.bn1.running_mean"].abs().sum().item<double>(), 0);
}

TEST(ResNet, FrozenBatchNormsTrainTheirWeightsOnly) {
  const BackbonePtr model = make_backbone({.name = "resnet18", .freeze_batch_norm = true}, 3, 32);
  model->train();
  model->forward(torch::rand({2, 3, 32, 32})).stages.back().sum().backward();
  EXPECT_EQ(model->named_buffers()["layer4.1.bn2.running_mean"].abs().sum().item<double>(), 0);
  EXPECT_TRUE(model->named_parameters()["layer4.1.bn2.weight"].grad().defined());
}

TEST(ResNet, BadNamesAndStridesAreUsageErrors) {
  EXPECT_THROW(make_backbone({.name = "resnet51"}, 3, 32), UsageError);
  EXPECT_THROW(make_backbone({.name = "resnet18", .output_stride = 12}, 3, 32), UsageError);
}

}  // namespace
}  // namespace tessera
