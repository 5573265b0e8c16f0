// Algorithms of training beside plain float64 torch: tests/interop/make_torch_training.py has the same network and samples.
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include "core/image.h"
#include "nn/blocks/batch_norm.h"
#include "support/fixtures.h"
#include "support/tiny_experiment.h"
#include "train/train_step.h"

namespace tessera {
namespace {

constexpr int64_t kSteps = 8, kStepsPerEpoch = 2, kSamples = 4, kSide = 8, kClasses = 3;

// What rounding makes of eight steps in float64 stays far below this, any other rule far above.
constexpr double kTolerance = 1e-8;

class SmallNet : public SegmentationModel {
 public:
  SmallNet() {
    conv1_ = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3).padding(1).bias(false)));
    norm1_ = register_module("norm1", BatchNorm2d(4));
    conv2_ = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 5, 3).padding(1).bias(false)));
    norm2_ = register_module("norm2", BatchNorm2d(5));
    head_ = register_module("head", torch::nn::Conv2d(torch::nn::Conv2dOptions(5, kClasses, 1)));
    const at::NoGradGuard no_grad;
    int64_t place = 0;
    for (const auto& item : named_parameters()) {
      const at::Tensor i = at::arange(item.value().numel());
      const bool scale = item.key().starts_with("norm") && item.key().ends_with("weight");
      const at::Tensor made = ((i * 37 + place++ * 11 + 5).remainder(29) - 14).to(at::kDouble) / 32 + (scale ? 1 : 0);
      item.value().copy_(made.view(item.value().sizes()));
    }
  }
  std::vector<std::string> head_prefixes() const override { return {"head"}; }

 protected:
  std::vector<Segment> make_segments() override {
    return {{.name = "first",
             .parts = {"conv1", "norm1"},
             .compute = [this](const Tensors& in) -> Tensors { return {norm1_->norm_relu(conv1_(in[0]))}; }},
            {.name = "second",
             .parts = {"conv2", "norm2"},
             .compute = [this](const Tensors& in) -> Tensors { return {norm2_->norm_relu(conv2_(in[0]))}; }},
            layer_segment("head", head_)};
  }

 private:
  torch::nn::Conv2d conv1_{nullptr}, conv2_{nullptr}, head_{nullptr};
  BatchNorm2d norm1_{nullptr}, norm2_{nullptr};
};

Batch batch_of(int64_t step) {
  const at::Tensor i = at::arange(kSamples * kSide * kSide * 3), j = at::arange(kSamples * kSide * kSide);
  Batch batch;
  batch.images =
      ((i * 53 + step * 19 + i.div(11, "floor") * 7 + 7).remainder(64).to(at::kFloat) / 64).view({kSamples, kSide, kSide, 3});
  const at::Tensor labels = (j.div(3, "floor") * 5 + j + step).remainder(kClasses + 1);
  batch.labels = at::where(labels == kClasses, kIgnoreLabel, labels).to(at::kShort).view({kSamples, kSide, kSide});
  batch.max_value = 1;
  batch.indices = batch.draws = {0, 1, 2, 3};
  return batch;
}

// As SmallNet has them, one behind another.
at::Tensor flat(const std::vector<at::Tensor>& values) {
  std::vector<at::Tensor> pieces;
  for (const at::Tensor& value : values) pieces.push_back(value.detach().contiguous().flatten());
  return at::cat(pieces);
}

void expect_near(const at::Tensor& found, const nlohmann::json& expected, const std::string& what) {
  const at::Tensor reference = torch::tensor(expected.get<std::vector<double>>(), at::kDouble);
  ASSERT_EQ(found.numel(), reference.numel()) << what;
  EXPECT_LT((found - reference).abs().max().item<double>(), kTolerance) << what;
}

// Trains as the case of the fixture was trained, and compares what is left.
void expect_parity(const std::string& name, const std::vector<std::string>& own) {
  const nlohmann::json fixture = testing::load_fixture("torch_training.json").at(name);
  std::vector<std::string> settings{"train.precision=fp64",    "train.batch_size=4",     "train.norm_group=4",
                                    "loss.terms=[ce]",         "schedule.type=constant", "data.normalize.mode=fixed",
                                    "data.normalize.mean=[0]", "data.normalize.std=[1]"};
  const nlohmann::json& config = fixture.at("config");
  settings.push_back("optimizer.type=" + config.at("type").get<std::string>());
  settings.push_back(fmt::format("optimizer.lr={}", config.at("lr").get<double>()));
  settings.push_back(fmt::format("optimizer.weight_decay={}", config.at("weight_decay").get<double>()));
  settings.push_back("optimizer.momentum=0.9");
  settings.insert(settings.end(), own.begin(), own.end());
  const Experiment e = testing::tiny_experiment(settings);
  const auto model = std::make_shared<SmallNet>();
  TrainStep step(e, model, kClasses, at::kCPU);
  for (int64_t i = 0; i < kSteps; ++i) {
    const double loss = step.run(batch_of(i), {i, kSteps, kStepsPerEpoch}).loss.item<double>();
    EXPECT_NEAR(loss, fixture.at("losses").at(static_cast<size_t>(i)).get<double>(), kTolerance) << name << ", step " << i;
  }
  expect_near(flat(model->parameters()), fixture.at("params"), name + ", parameters");
  expect_near(flat(model->buffers()), fixture.at("buffers"), name + ", running statistics");
  if (!fixture.contains("average")) return;
  const auto average = step.average().use();
  const nlohmann::json& expected = fixture.at("average");
  expect_near(flat(model->parameters()), expected.at("params"), name + ", averaged parameters");
  expect_near(flat(model->buffers()), expected.at("buffers"), name + ", averaged statistics");
  int64_t next = kSteps;
  step.measure_statistics([&] { return batch_of(next++); }, config.at("swa").at("batches"), {kSteps, kSteps, kStepsPerEpoch},
                          step.average().buffers());
  expect_near(flat(model->buffers()), expected.at("measured"), name + ", measured statistics");
}

TEST(TorchTraining, WithoutAnyOfThem) {
  expect_parity("plain", {});
}

TEST(TorchTraining, SharpnessAwareMinimisation) {
  expect_parity("sam", {"train.sam.rho=0.3"});
  expect_parity("sam_every_third_step", {"train.sam.rho=0.3", "train.sam.interval=3"});
  expect_parity("sam_adamw_clipped", {"train.sam.rho=0.1", "train.sam.interval=2", "optimizer.clip_norm=0.2"});
}

// With the rate that is held, and batch norm's statistics of the average.
TEST(TorchTraining, StochasticWeightAveraging) {
  expect_parity("swa", {"train.swa.start=4ba", "train.swa.update_interval=1ba", "train.swa.lr=0.03", "train.swa.anneal=3ba"});
  expect_parity("swa_linear_every_second_step", {"train.swa.start=2ep", "train.swa.update_interval=2ba", "train.swa.lr=0.03",
                                                 "train.swa.anneal=3ba", "train.swa.anneal_shape=linear"});
}

TEST(TorchTraining, ImagesThatGrow) {
  expect_parity(
      "resizing",
      {"train.progressive_resizing={initial_scale: 0.5, delay_fraction: 0.25, finetune_fraction: 0.25, size_increment: 1}"});
}

TEST(TorchTraining, PartsThatAreFrozenForAPartOfTheRun) {
  expect_parity("frozen_until", {"model.freeze=['first until 3ba']"});
  expect_parity("frozen_until", {"model.freeze=['conv1 until 3ba', 'norm1 until 3ba']"});
  expect_parity("frozen_from", {"model.freeze=['first from 0.5dur']"});
  expect_parity("layer_freezing", {"train.layer_freezing={level: 1, start: 0.25dur}"});
}

}  // namespace
}  // namespace tessera
