#include "nn/models/segmenter.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <set>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "support/fixtures.h"
#include "support/made_values.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

SegmenterConfig tiny(SegmenterDecoder decoder) {
  SegmenterConfig config;
  config.decoder = decoder;
  config.image_size = {40, 48};
  config.patch = 8;
  config.width = 48;
  config.layers = 2;
  config.heads = 3;
  config.norm_eps = 1e-5;
  return config;
}

void expect_the_reference() {
  const nlohmann::json fixture = testing::load_fixture("vit.json");
  ASSERT_FALSE(fixture.at("segmenter").empty());
  for (const auto& row : fixture.at("segmenter")) {
    const bool mask = row.at("decoder") == "mask";
    for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-10}, std::pair{at::kFloat, 1e-4}}) {
      SegmenterImpl model(tiny(mask ? SegmenterDecoder::kMask : SegmenterDecoder::kLinear), {3, 5});
      model.to(type);
      model.eval();
      testing::fill_made(model);
      const at::Tensor x = testing::made({2, 3, row.at("size")[0], row.at("size")[1]}, 7, 4.0, type);
      const at::Tensor logits = model.forward(x).logits();
      testing::expect_picked(logits, row.at("logits"), tolerance, "logits");
      testing::expect_picked(model.class_masks(x), row.at("masks"), tolerance, "masks");
      testing::expect_gradients(model, logits, row.at("gradients"), tolerance);
      testing::expect_picked(model.encoder_attention(x, 1).weights, row.at("encoder_attention"), tolerance, "encoder");
      if (mask)
        testing::expect_picked(model.decoder_attention(x, 1).weights, row.at("decoder_attention"), tolerance, "decoder");
    }
  }
}

TEST(Segmenter, AgreesWithItsReferenceAtOddSizes) {
  expect_the_reference();
}

TEST(Segmenter, AgreesWithItsReferenceWithFusedKernels) {
  const FusedTransformerGuard fused;
  expect_the_reference();
}

int64_t parameters(VitBackbone backbone, SegmenterDecoder decoder, int size) {
  SegmenterConfig config;
  config.backbone = backbone;
  config.decoder = decoder;
  config.image_size = {size, size};
  return count_parameters(SegmenterImpl(config, {3, 150}));
}

// The reference keeps the encoder's unused classifier of 1000 classes, which this model does not have.
TEST(Segmenter, ParameterCountsOfTheReference) {
  const auto unused_head = [](int64_t width) { return 1000 * width + 1000; };
  using enum VitBackbone;
  constexpr auto kMask = SegmenterDecoder::kMask;
  EXPECT_EQ(parameters(kTi16, kMask, 512) + unused_head(192), 6906388);
  EXPECT_EQ(parameters(kS16, kMask, 512) + unused_head(384), 26418964);
  EXPECT_EQ(parameters(kB16, kMask, 512) + unused_head(768), 103266580);
  EXPECT_EQ(parameters(kB8, SegmenterDecoder::kLinear, 512) + unused_head(768), 89235838);
  EXPECT_EQ(parameters(kL16, kMask, 640) + unused_head(1024), 334259476);
}

TEST(Segmenter, LogitsHaveOneValuePerPatchOrTheInputsSize) {
  for (const auto decoder : {SegmenterDecoder::kLinear, SegmenterDecoder::kMask}) {
    SegmenterImpl model(tiny(decoder), {3, 5});
    model.eval();
    EXPECT_EQ(model.forward(torch::zeros({1, 3, 64, 24})).logits().sizes(), (std::vector<int64_t>{1, 5, 8, 3}));
    EXPECT_EQ(model.forward(torch::zeros({1, 3, 65, 24})).logits().sizes(), (std::vector<int64_t>{1, 5, 65, 24}));
    EXPECT_EQ(model.forward(torch::zeros({1, 3, 1, 1})).logits().sizes(), (std::vector<int64_t>{1, 5, 1, 1}));
  }
}

TEST(Segmenter, WeightsAreAFunctionOfSeedAndNameWithTheReferencesSpread) {
  ModelConfig config;
  config.name = "segmenter";
  config.segmenter = tiny(SegmenterDecoder::kMask);
  const ModelPtr a = make_model(config, {3, 5}, 5), b = make_model(config, {3, 5}, 5), c = make_model(config, {3, 5}, 6);
  config.segmenter.layers = 3;
  const ModelPtr deeper = make_model(config, {3, 5}, 5);
  const auto of = [](const ModelPtr& model, const std::string& name) { return model->named_parameters()[name]; };
  const auto deviation = [&](const std::string& name) { return of(a, name).std().item<double>(); };
  EXPECT_TRUE(of(a, "encoder.pos_embed").equal(of(b, "encoder.pos_embed")));
  EXPECT_FALSE(of(a, "encoder.pos_embed").equal(of(c, "encoder.pos_embed")));
  EXPECT_TRUE(of(a, "decoder.blocks.1.mlp.fc1.weight").equal(of(deeper, "decoder.blocks.1.mlp.fc1.weight")));
  for (const char* name :
       {"encoder.pos_embed", "encoder.blocks.0.attn.qkv.weight", "decoder.proj_dec.weight", "decoder.cls_emb"}) {
    EXPECT_NEAR(deviation(name), 0.02, 0.003) << name;
  }
  EXPECT_NEAR(deviation("decoder.proj_patch"), std::pow(48, -0.5), 0.01);
  EXPECT_NEAR(deviation("encoder.patch_embed.proj.weight"), std::pow(3 * 3 * 64, -0.5), 0.003);  // uniform: half / sqrt(3)
  EXPECT_TRUE(of(a, "encoder.norm.weight").equal(torch::ones({48})));
  EXPECT_EQ(of(a, "encoder.blocks.0.attn.qkv.bias").abs().max().item<double>(), 0);
}

TEST(Segmenter, EveryNameWithoutWeightDecayIsAParameter) {
  SegmenterConfig config = tiny(SegmenterDecoder::kMask);
  for (const bool distilled : {false, true}) {
    config.distilled = distilled;
    SegmenterImpl model(config, {3, 5});
    const auto names = model.no_weight_decay();
    EXPECT_EQ(names.size(), distilled ? 4U : 3U);
    for (const std::string& name : names) EXPECT_TRUE(model.named_parameters().contains(name)) << name;
  }
  EXPECT_EQ(SegmenterImpl(tiny(SegmenterDecoder::kLinear), {3, 5}).no_weight_decay().size(), 2U);
}

TEST(Segmenter, DepthsRunFromTheEmbeddingsToTheDecoder) {
  SegmenterImpl model(tiny(SegmenterDecoder::kMask), {3, 5});
  EXPECT_EQ(model.num_depths(), 4);
  EXPECT_EQ(model.depth_of("encoder.cls_token"), 0);
  EXPECT_EQ(model.depth_of("encoder.blocks.1.norm2.bias"), 2);
  EXPECT_EQ(model.depth_of("encoder.norm.bias"), 3);
  EXPECT_EQ(model.depth_of("decoder.blocks.0.norm2.bias"), 3);
  EXPECT_EQ(model.depth_of("decoder.proj_classes"), 3);
}

TEST(Segmenter, AttentionMapsLieOnTheImage) {
  SegmenterImpl model(tiny(SegmenterDecoder::kMask), {3, 5});
  model.eval();
  const at::Tensor x = torch::randn({2, 3, 32, 50});
  const AttentionMaps encoder = model.encoder_attention(x, 0), decoder = model.decoder_attention(x, 1);
  EXPECT_EQ(encoder.of_token(0).sizes(), (std::vector<int64_t>{2, 3, 4, 7}));
  const at::Tensor classes = decoder.of_classes();
  EXPECT_EQ(classes.sizes(), (std::vector<int64_t>{2, 3, 5, 4, 7}));
  EXPECT_TRUE(classes.select(2, 3).equal(decoder.of_token(28 + 3)));  // 28 patches, then class 3
  SegmenterImpl linear(tiny(SegmenterDecoder::kLinear), {3, 5});
  EXPECT_THROW(linear.decoder_attention(x, 0), Error);
}

TEST(Segmenter, CheckpointsChangeNothing) {
  torch::manual_seed(1);
  const at::Tensor x = torch::randn({2, 3, 37, 50}, at::kDouble);
  std::vector<at::Tensor> gradients[2];
  for (const bool checkpoint : {false, true}) {
    ModelConfig config;
    config.name = "segmenter";
    config.segmenter = tiny(SegmenterDecoder::kMask);
    config.segmenter.checkpoint = checkpoint;
    const ModelPtr model = make_model(config, {3, 5}, 1);
    model->to(at::kDouble);
    const StepContextGuard context({.sample_keys = sample_keys(3, 0, {0, 1})});
    model->forward(x).logits().square().mean().backward();
    for (const at::Tensor& value : model->parameters()) gradients[checkpoint ? 1 : 0].push_back(value.grad());
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) EXPECT_TRUE(torch::allclose(gradients[0][i], gradients[1][i], 1e-9, 1e-12));
}

// Left half one class, right half another: learnt in a few steps, with every kind of dropout on.
TEST(Segmenter, Learns) {
  for (const auto decoder : {SegmenterDecoder::kLinear, SegmenterDecoder::kMask}) {
    ModelConfig config;
    config.name = "segmenter";
    config.segmenter = tiny(decoder);
    const ModelPtr model = make_model(config, {1, 2}, 3);
    torch::manual_seed(1);
    const at::Tensor labels = (torch::arange(6) / 3).floor().to(at::kLong).expand({2, 4, 6});
    const at::Tensor x = (labels.to(at::kFloat) - 0.5).unsqueeze(1).repeat_interleave(8, 2).repeat_interleave(8, 3);
    double loss = 0;
    for (int64_t step = 0; step < 40; ++step) {
      const StepContextGuard context({.sample_keys = sample_keys(1, step, {0, 1})});
      const at::Tensor value = at::cross_entropy_loss(model->forward(x).logits(), labels);
      model->zero_grad();
      value.backward();
      const at::NoGradGuard no_grad;
      for (at::Tensor& p : model->parameters()) p -= 0.05 * p.grad();
      loss = value.item<double>();
    }
    EXPECT_LT(loss, 0.25) << name_of(decoder);
  }
}

}  // namespace
}  // namespace tessera
