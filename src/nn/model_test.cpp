#include "nn/model.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "nn/model_options.h"
#include "support/messages.h"

namespace tessera {
namespace {

ModelConfig small_unet() {
  ModelConfig config;
  config.unet = {.channels = {4, 6}, .convs = {1}};
  return config;
}

TEST(Freeze, PartsKeepWeightsAndStatisticsWhateverTheMode) {
  ModelConfig config = small_unet();
  config.freeze = {"down0", "classifier.0.bias"};
  const ModelPtr model = make_model(config, {3, 2}, 1);
  model->eval();
  model->train();
  const at::Tensor frozen = model->named_buffers()["down0.1.running_mean"].clone();
  model->forward(torch::rand({2, 3, 8, 8})).logits().sum().backward();
  for (const auto& item : model->named_parameters()) {
    const bool is_frozen = item.key().starts_with("down0.") || item.key() == "classifier.0.bias";
    EXPECT_EQ(item.value().grad().defined(), !is_frozen) << item.key();
  }
  EXPECT_TRUE(model->named_buffers()["down0.1.running_mean"].equal(frozen));
  EXPECT_GT(model->named_buffers()["down1.1.running_mean"].abs().sum().item<double>(), 0);
}

TEST(Freeze, ASegmentIsAPart) {
  ModelConfig config = small_unet();
  config.freeze = {"decoder1"};
  const ModelPtr model = make_model(config, {3, 2}, 1);
  for (const auto& item : model->named_parameters()) {
    const bool is_frozen = item.key().starts_with("up1.") || item.key().starts_with("merge1.");
    EXPECT_EQ(item.value().requires_grad(), !is_frozen) << item.key();
  }
  EXPECT_FALSE(model->named_modules()["merge1"]->is_training());
  EXPECT_TRUE(model->named_modules()["merge0"]->is_training());
}

TEST(Freeze, UnknownPartsAndNothingLeftAreUsageErrors) {
  ModelConfig config = small_unet();
  for (const std::vector<std::string>& parts :
       {std::vector<std::string>{"down"},
        {"dropout"},
        {"down0", "down1", "bottleneck", "up0", "up1", "merge0", "merge1", "classifier"}}) {
    config.freeze = parts;
    EXPECT_THROW(make_model(config, {3, 2}, 1), UsageError) << parts[0];
  }
}

TEST(ModelOutput, IsReadFromTheTensorsBehindTheLastSegment) {
  const at::Tensor a = torch::zeros({1, 1, 1, 1}), b = torch::ones({1, 1, 1, 1}), c = torch::zeros({1}),
                   aux = torch::full({1, 1, 1, 1}, 3.0);
  EXPECT_TRUE(ModelOutput::of({a}).logits().is_same(a));
  EXPECT_TRUE(ModelOutput::of({a}).aux.empty());
  EXPECT_TRUE(ModelOutput::of({a, aux}).aux[0].is_same(aux));
  EXPECT_TRUE(ModelOutput::of({a, b, aux}).aux[1].is_same(aux));  // two heights of a decoder
  for (const Tensors& state : {Tensors{a, b, c}, Tensors{a, b, c, aux}}) {
    const ModelOutput output = ModelOutput::of(state);
    const auto& classifier = std::get<PixelClassifier>(output.scores);
    EXPECT_TRUE(classifier.features.is_same(a) && classifier.weight.is_same(b) && classifier.bias.is_same(c));
    EXPECT_EQ(output.aux.size(), state.size() - 3);
    EXPECT_THROW(output.logits(), Error);
  }
  EXPECT_THROW(ModelOutput::of({}), Error);
}

struct Options {
  int64_t width = 8;
  bool wide = false;
};
template <class V>
void describe(V& v, Options& o) {
  v.field("width", o.width, "channels", at_least(1));
  v.field("wide", o.wide, "twice as many");
}

TEST(ModelOptions, AreReadAndCheckedByTheModel) {
  ModelConfig config;
  EXPECT_EQ(model_options<Options>(config).width, 8);
  config.options = parse_config("{width: 12, wide: yes}", "a.yaml");
  EXPECT_EQ(model_options<Options>(config).width, 12);
  EXPECT_TRUE(model_options<Options>(config).wide);
  config.options = parse_config("{widht: 12}", "a.yaml");
  EXPECT_CONTAINS(testing::message_of<UsageError>([&] { model_options<Options>(config); }),
                  "a.yaml:1: unknown key 'model.options.widht', did you mean 'width'?");
}

TEST(ModelOptions, AModelThatDoesNotReadThemSaysSo) {
  ModelConfig config = small_unet();
  config.options = parse_config("{width: 12}", "a.yaml");
  EXPECT_THROW(make_model(config, {3, 2}, 1), UsageError);
}

}  // namespace
}  // namespace tessera
