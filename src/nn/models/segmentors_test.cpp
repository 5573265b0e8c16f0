// PSPNet, UPerNet, DeepLabV3, DeepLabV3+, FCN and the U-Net on a ResNet, held to the libraries they come from.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "nn/init/init_layers.h"
#include "nn/model.h"
#include "support/fixtures.h"
#include "support/model_parity.h"
#include "support/norm_segments.h"

namespace tessera {
namespace {

ModelPtr make(const std::string& name, ModelConfig config, const ModelShape& shape) {
  config.name = name;
  return make_model(config, shape, /*seed=*/1);
}

ModelConfig on(const std::string& backbone) {
  ModelConfig config;
  config.backbone.name = backbone;
  return config;
}

int64_t parameters(const std::string& name, const ModelConfig& config, int64_t classes) {
  return count_parameters(*make(name, config, {3, classes}));
}

// Without an auxiliary head, 150 classes.
TEST(DeepLabV3Plus, ParameterCountsOfTheAde20kReference) {
  EXPECT_EQ(parameters("deeplabv3plus", on("resnet101"), 150), 60265286);
  EXPECT_EQ(parameters("deeplabv3plus", on("resnet50"), 150), 41273158);
  EXPECT_EQ(count_parameters(*make("deeplabv3plus", on("resnet50"), {3, 150})->named_children()["decode_head"]), 17765126);
}

// mmsegmentation's deeplabv3plus_r101-d8: a deep stem and an auxiliary head.
TEST(DeepLabV3Plus, ParameterCountOfMmsegmentationsConfig) {
  ModelConfig config = on("resnet101");
  config.backbone.stem = Stem::kDeep;
  config.deeplabv3plus.aux.enabled = true;
  EXPECT_EQ(parameters("deeplabv3plus", config, 150), 62682876);
}

TEST(DeepLabV3Plus, SeparableEverywhereIsALighterHead) {
  ModelConfig config = on("resnet50");
  config.deeplabv3plus.separable = Separable::kAll;
  EXPECT_EQ(parameters("deeplabv3plus", config, 150), 30815558);
}

// As torchvision publishes them: with the auxiliary head, 21 classes.
TEST(TorchvisionSegmentors, ParameterCounts) {
  EXPECT_EQ(parameters("deeplabv3", on("resnet50"), 21), 42004074);
  EXPECT_EQ(parameters("deeplabv3", on("resnet101"), 21), 60996202);
  EXPECT_EQ(parameters("fcn", on("resnet50"), 21), 35322218);
  EXPECT_EQ(parameters("fcn", on("resnet101"), 21), 54314346);
}

void expect_equal(const std::string& fixture, const std::string& entry, const std::string& name, ModelConfig config,
                  const ModelShape& shape) {
  // With and without recomputation: the same function, gradients and statistics. Large ones once: it takes seconds.
  for (const bool checkpoint : {false, true}) {
    config.backbone.checkpoint = checkpoint;
    if (checkpoint && config.backbone.name == "resnet50") return;
    const ModelPtr model = make(name, config, shape);
    testing::expect_parity(testing::load_fixture(fixture)["cases"][entry], *model, [&](const at::Tensor& x) {
      const ModelOutput output = model->forward(x);
      Tensors all{output.logits()};
      all.insert(all.end(), output.aux.begin(), output.aux.end());
      return all;
    });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(TorchvisionSegmentors, DeepLabV3IsTheSameFunction) {
  ModelConfig config = on("resnet50");
  config.deeplabv3.aspp_dropout = config.deeplabv3.aux.dropout = 0;
  expect_equal("torchvision_models.json", "deeplabv3_resnet50", "deeplabv3", config, {3, 21});
}

TEST(TorchvisionSegmentors, FcnIsTheSameFunction) {
  ModelConfig config = on("resnet50");
  config.fcn.dropout = config.fcn.aux.dropout = 0;
  expect_equal("torchvision_models.json", "fcn_resnet50", "fcn", config, {3, 21});
}

const AuxConfig kNarrowAux{.channels = 32, .dropout = 0};

// mmsegmentation's backbones (ResNetV1c) have a deep stem.
ModelConfig on_mmsegs(const std::string& backbone) {
  ModelConfig config = on(backbone);
  config.backbone.stem = Stem::kDeep;
  return config;
}

TEST(MmsegSegmentors, PspNetOnAWideDeepStem) {
  ModelConfig config = on_mmsegs("resnet50");
  config.backbone.stem_width = 128;
  config.pspnet = {.channels = 48, .dropout = 0, .aux = kNarrowAux};
  expect_equal("mmseg_models.json", "pspnet", "pspnet", config, {3, 7});
}

TEST(MmsegSegmentors, UperNet) {
  ModelConfig config = on_mmsegs("resnet18");
  config.upernet = {.bins = {1, 2, 4, 6}, .channels = 32, .dropout = 0, .aux = kNarrowAux};
  expect_equal("mmseg_models.json", "upernet", "upernet", config, {3, 7});
}

TEST(MmsegSegmentors, DeepLabV3WithAlignedCorners) {
  ModelConfig config = on_mmsegs("resnet18");
  config.deeplabv3 = {.layout = HeadLayout::kMmseg,
                      .dilations = {6, 12, 18},
                      .channels = 64,
                      .dropout = 0,
                      .align_corners = true,
                      .aux = kNarrowAux};
  expect_equal("mmseg_models.json", "deeplabv3", "deeplabv3", config, {3, 7});
}

// (On 50 layers of the fixture's weights mmsegmentation's own outputs move by 5e-10 with the order of sums: its R50 is held by
// check_model_files.py, with weights as training has them.)
TEST(MmsegSegmentors, DeepLabV3Plus) {
  ModelConfig config = on_mmsegs("resnet18");
  config.deeplabv3plus = {.channels = 64, .low_level_channels = 12, .dropout = 0, .aux = kNarrowAux};
  expect_equal("mmseg_models.json", "deeplabv3plus", "deeplabv3plus", config, {3, 7});
}

TEST(MmsegSegmentors, Fcn) {
  ModelConfig config = on_mmsegs("resnet18");
  config.fcn = {.layout = HeadLayout::kMmseg, .channels = 64, .dropout = 0, .aux = kNarrowAux};
  expect_equal("mmseg_models.json", "fcn", "fcn", config, {3, 7});
}

TEST(SmpSegmentors, UNetOnAResNet) {
  expect_equal("smp_models.json", "unet_resnet34", "unet_resnet", on("resnet34"), {4, 5});
}

const std::vector<std::string> kAll = {"pspnet", "upernet", "deeplabv3", "deeplabv3plus", "fcn", "unet_resnet"};

// With dropout on, in two batch-norm units, at an odd size: a small step against the gradient lowers the loss by what the
// gradient's length says.
TEST(Segmentors, EachTrainsOneStepAtAnOddSize) {
  for (const std::string& name : kAll) {
    ModelConfig config = on("resnet18");
    config.zero_gamma = false;
    const ModelPtr model = make(name, config, {2, 3});
    init_layers(*model, LayerInit::kTorch, 5);
    model->to(at::kDouble);
    model->train();
    const StepContextGuard context({.sample_keys = sample_keys(1, 0, {0, 1, 2, 3}), .segments = testing::norm_segments(4, 2)});
    const at::Tensor x = torch::linspace(-1, 1, 4 * 2 * 45 * 37, at::kDouble).view({4, 2, 45, 37}).mul(9).sin();
    const auto loss = [&] {
      const ModelOutput output = model->forward(x);
      const at::Tensor main = output.logits().log_softmax(1).select(1, 1).mean();
      return output.aux.empty() ? -main : -(main + 0.4 * output.aux[0].log_softmax(1).select(1, 1).mean());
    };
    const at::Tensor before = loss();
    before.backward();
    double squares = 0;
    for (const auto& item : model->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << name << " " << item.key();
      squares += item.value().grad().square().sum().item<double>();
    }
    const double wanted = 1e-5 * before.item<double>();
    const at::NoGradGuard no_grad;
    for (at::Tensor& value : model->parameters()) value.sub_(value.grad(), wanted / squares);
    EXPECT_NEAR(before.item<double>() - loss().item<double>(), wanted, 0.05 * wanted) << name;
    model->eval();
    const at::Tensor logits = model->forward(x.slice(0, 0, 1)).logits();
    EXPECT_EQ(logits.size(1), 3) << name;
    EXPECT_TRUE(logits.isfinite().all().item<bool>()) << name;
  }
}

TEST(Segmentors, HeadPrefixesNameEveryParameterOutsideTheBackbone) {
  for (const std::string& name : kAll) {
    const ModelPtr model = make(name, on("resnet18"), {3, 2});
    for (const auto& item : model->named_parameters()) {
      bool in_head = false;
      for (const std::string& prefix : model->head_prefixes()) in_head = in_head || item.key().starts_with(prefix);
      EXPECT_NE(in_head, item.key().starts_with("backbone.") || item.key().starts_with("encoder.")) << item.key();
    }
  }
}

TEST(Segmentors, OneSampleCannotTrainABatchNormOverOnePooledValue) {
  const ModelPtr model = make("pspnet", on("resnet18"), {3, 2});
  model->train();
  EXPECT_THROW(model->forward(torch::rand({1, 3, 33, 33})), Error);
  model->eval();
  EXPECT_EQ(model->forward(torch::rand({1, 3, 33, 33})).logits().size(2), 5);
}

}  // namespace
}  // namespace tessera
