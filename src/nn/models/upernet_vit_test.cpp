#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "nn/model.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

ModelConfig tiny() {
  ModelConfig config;
  config.name = "upernet_vit";
  config.upernet_vit.image_size = {32, 32};
  config.upernet_vit.patch = 8;
  config.upernet_vit.width = 16;
  config.upernet_vit.layers = 4;
  config.upernet_vit.heads = 2;
  config.upernet_vit.head.channels = 8;
  config.upernet_vit.head.aux.channels = 8;
  return config;
}

TEST(UperNetVit, LogitsLieAtAQuarterOfThePatchOrTheInputsSize) {
  const ModelPtr model = make_model(tiny(), {3, 5}, 1);
  model->eval();
  EXPECT_EQ(model->forward(torch::zeros({1, 3, 64, 40})).logits().sizes(), (std::vector<int64_t>{1, 5, 32, 20}));
  EXPECT_EQ(model->forward(torch::zeros({1, 3, 37, 50})).logits().sizes(), (std::vector<int64_t>{1, 5, 37, 50}));
  EXPECT_EQ(model->forward(torch::zeros({1, 3, 5, 5})).logits().sizes(), (std::vector<int64_t>{1, 5, 5, 5}));
}

TEST(UperNetVit, EveryParameterLearnsAndCheckpointsChangeNothing) {
  std::vector<at::Tensor> gradients[2];
  torch::manual_seed(1);
  const at::Tensor x = torch::randn({2, 3, 37, 50}, at::kDouble);
  for (const bool checkpoint : {false, true}) {
    ModelConfig config = tiny();
    config.upernet_vit.checkpoint = checkpoint;
    const ModelPtr model = make_model(config, {3, 5}, 1);
    model->to(at::kDouble);
    const StepContextGuard context({.sample_keys = sample_keys(3, 0, {0, 1})});
    const ModelOutput output = model->forward(x);
    (output.logits().square().mean() + output.aux.at(0).square().mean()).backward();
    for (const auto& item : model->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      gradients[checkpoint ? 1 : 0].push_back(item.value().grad());
    }
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) EXPECT_TRUE(torch::allclose(gradients[0][i], gradients[1][i], 1e-9, 1e-12));
}

TEST(UperNetVit, NamesAndDepths) {
  const ModelPtr model = make_model(tiny(), {3, 5}, 1);
  for (const std::string& name : model->no_weight_decay()) EXPECT_TRUE(model->named_parameters().contains(name)) << name;
  EXPECT_EQ(model->num_depths(), 6);
  EXPECT_EQ(model->depth_of("backbone.vit.pos_embed"), 0);
  EXPECT_EQ(model->depth_of("backbone.vit.blocks.2.norm1.bias"), 3);
  EXPECT_EQ(model->depth_of("backbone.vit.norm.weight"), 5);
  EXPECT_EQ(model->depth_of("backbone.up4.0.weight"), 5);
  EXPECT_EQ(model->depth_of("decode_head.conv_seg.bias"), 5);
  EXPECT_THROW(model->depth_of("neck.weight"), Error);
  EXPECT_NEAR(model->named_parameters()["backbone.vit.pos_embed"].std().item<double>(), 0.02, 0.004);
}

TEST(UperNetVit, FourLayersMakeThePyramid) {
  ModelConfig config = tiny();
  config.upernet_vit.out_layers = {0, 3};
  EXPECT_THROW(make_model(config, {3, 5}, 1), Error);
  config.upernet_vit.out_layers = {};
  config.upernet_vit.layers = 3;
  EXPECT_THROW(make_model(config, {3, 5}, 1), Error);
}

}  // namespace
}  // namespace tessera
