// Whole steps on a GPU. Skipped where there is none.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "support/few_steps.h"
#include "support/small_models.h"
#include "tensor/device.h"

namespace tessera {
namespace {

using testing::expect_overfits_one_batch;
using testing::first_batch;
using testing::relative_difference;
using testing::small_model;
using testing::tiny_experiment;
using testing::uneven_batch;
using testing::weights_after;
using testing::weights_of;

// What else may happen in a step.
const std::vector<std::vector<std::string>> kAlgorithms{
    {"train.sam.rho=0.2", "train.sam.interval=2"},
    {"train.swa.start=4ba", "train.swa.update_interval=2ba", "train.swa.lr=0.01"},
    {"train.progressive_resizing={initial_scale: 0.5, delay_fraction: 0.03, finetune_fraction: 0.93}"},
    {"train.progressive_resizing={initial_scale: 0.5, mode: crop}"},
    {"model.freeze=['down0 until 2ba', 'down1 from 3ba']", "optimizer.type=adamw"}};

// Losses and optimizers that go their own way on a GPU, or look at the pixels of an image together.
const std::vector<std::vector<std::string>> kRules{
    {"loss.terms=[{ohem: {class_weights: [1, 2, 3, 4]}}, {tversky: {gamma: 0.75}}]", "loss.type=null", "optimizer.type=lars",
     "optimizer.trust_coefficient=0.1"},
    {"loss.terms=[lovasz, boundary_ce, {focal: {class_weights: [1, 2, 3, 4]}}]", "loss.type=null", "optimizer.lr=0.01"},
    {"model.unet.channels=[4, 8, 8]", "model.unet.deep_supervision=2", "loss.type=ce_dice"},
    {"optimizer.type=lion", "optimizer.lr=0.001", "model.unet.batch_norm=false"}};

const std::vector<std::string> kMixing{"train.mixup.alpha=0.4", "train.mixup.probability=0.5", "train.cutmix.alpha=1",
                                       "train.cutmix.probability=0.5"};

class TrainStepGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_plugin() == nullptr || cuda_plugin()->gpus().empty()) GTEST_SKIP() << cuda_status();
  }
};

// In float64 a GPU differs from a CPU only by the order of sums.
TEST_F(TrainStepGpu, EqualsTheCpuInFloat64) {
  std::vector<std::string> options{"train.precision=fp64", "model.unet.dropout=0.3", "loss.type=ce_dice",
                                   "optimizer.clip_norm=0.5"};
  EXPECT_LT(relative_difference(weights_after(options, 10), weights_after(options, 10, nullptr, at::kCUDA)), 1e-9);
  options.insert(options.end(), kMixing.begin(), kMixing.end());
  EXPECT_LT(relative_difference(weights_after(options, 10), weights_after(options, 10, nullptr, at::kCUDA)), 1e-9) << "mixed";
  std::vector<std::vector<std::string>> algorithms = kAlgorithms;
  algorithms.insert(algorithms.end(), kRules.begin(), kRules.end());
  for (const std::vector<std::string>& algorithm : algorithms) {
    std::vector<std::string> all = options;
    all.insert(all.end(), algorithm.begin(), algorithm.end());
    at::Tensor here, there;
    EXPECT_LT(relative_difference(weights_after(all, 10, &here), weights_after(all, 10, &there, at::kCUDA)), 1e-9)
        << algorithm[0];
    if (here.numel() > 0) {
      EXPECT_LT(relative_difference(here, there), 1e-9) << algorithm[0];
    }
  }
}

TEST_F(TrainStepGpu, MicroBatchChangesNothing) {
  std::vector<std::string> options{"train.precision=fp64", "model.unet.dropout=0.3", "loss.type=ce_dice"};
  const at::Tensor whole = weights_after(options, 6, nullptr, at::kCUDA);
  options.emplace_back("train.micro_batch=2");
  EXPECT_LT(relative_difference(whole, weights_after(options, 6, nullptr, at::kCUDA)), 1e-9);
}

TEST_F(TrainStepGpu, OverfitsOneBatchInEveryPrecision) {
  for (const char* precision : {"fp32", "bf16", "fp16"}) expect_overfits_one_batch(precision, at::kCUDA);
}

// The last convolution and the loss as one operator, or one after another; each step from the same weights, in half precision.
TEST_F(TrainStepGpu, TheClassifierMayBeLeftToTheLoss) {
  for (const char* precision : {"bf16", "fp16"}) {
    const Experiment e = tiny_experiment({std::string("train.precision=") + precision, "model.unet.channels=[16,32]"});
    const Batch batch = first_batch(e);
    at::Tensor losses[2], gradients[2];
    for (const bool in_loss : {false, true}) {
      const ModelPtr model = make_model(e.model, {3, 4}, 1);
      TrainStep step(e, model, 4, at::kCUDA);
      model->use_fused_classifier(in_loss);
      losses[in_loss] = step.run(batch, {0, 100, 2}).loss.cpu();
      gradients[in_loss] = step.arena().grads().cpu();
    }
    EXPECT_NEAR(losses[0].item<double>(), losses[1].item<double>(), 0.01 * losses[0].item<double>()) << precision;
    EXPECT_LT(relative_difference(gradients[0], gradients[1]), 0.05) << precision;
    EXPECT_FALSE(losses[0].equal(losses[1])) << precision << ": the two did the same";
  }
}

// The first steps may wait (cuDNN tries its algorithms out, a pass is recorded); from then on the program runs ahead of the
// GPU.
TEST_F(TrainStepGpu, NothingInAStepWaitsForTheGpu) {
  for (const auto& options : std::vector<std::vector<std::string>>{
           {"loss.type=ce", "optimizer.clip_norm=1", "loss.class_weights=[1,2,3,4]"},
           {"loss.type=ce_dice", "optimizer.type=adamw", "train.micro_batch=2"},
           kMixing,
           {"train.precision=bf16", "model.unet.dropout=0.3", "train.ema.smoothing=0.9"},
           {"train.precision=bf16", "model.unet.channels=[8,16]"},
           {"train.precision=fp16", "optimizer.type=adamw", "optimizer.clip_norm=1"},
           {"train.precision=fp16", "optimizer.type=lamb", "train.ema.half_life=2ba"},
           {"loss.terms=[{ohem: {class_weights: [1, 2, 3, 4]}}, {tversky: {gamma: 0.75}}]", "optimizer.type=lars"},
           {"loss.terms=[lovasz, boundary_ce]", "train.precision=fp16", "optimizer.type=lars"},
           {"model.unet.channels=[8,16,16]", "model.unet.deep_supervision=2", "train.precision=bf16", "optimizer.type=lion"},
           {"train.sam.rho=0.1", "train.precision=bf16"},
           {"train.sam.rho=0.1", "train.precision=fp16", "optimizer.type=adamw", "train.micro_batch=2"},
           {"train.progressive_resizing.initial_scale=0.5", "train.cuda_graph=false"},
           {"train.cuda_graph=false", "loss.class_weights=[1,2,3,4]", "optimizer.clip_norm=1"},
           {"train.cuda_graph=false", "train.precision=bf16", "model.unet.dropout=0.3"}}) {
    const Experiment e = tiny_experiment(options);
    Batch batch = first_batch(e);
    batch.images = batch.images.pin_memory();  // as the trainer's loader does
    batch.labels = batch.labels.pin_memory();
    TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCUDA);
    for (int i = 0; i < 4; ++i) step.run(batch, {i, 100, 2});
    cuda_plugin()->forbid_waiting(true);
    try {
      for (int i = 4; i < 7; ++i) step.run(batch, {i, 100, 2});
    } catch (const c10::Error& error) {
      ADD_FAILURE() << options[0] << ": " << error.what();
    }
    cuda_plugin()->forbid_waiting(false);
  }
}

// An overflow is seen, and the step skipped, without the program knowing.
TEST_F(TrainStepGpu, OverflowInFp16SkipsTheStepOnTheDevice) {
  const Experiment e = tiny_experiment({"train.precision=fp16", "optimizer.type=adamw"});
  const Batch batch = first_batch(e);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCUDA);
  const at::Tensor before = step.arena().params().clone();
  step.scaler().restore({.scale = 1e30, .good_steps = 5, .applied_steps = 7, .skipped_steps = 0});
  step.run(batch, {0, 100, 2});
  EXPECT_TRUE(step.arena().params().equal(before));
  LossScaling now = step.scaler().read();
  EXPECT_EQ(now.scale, 5e29);
  EXPECT_EQ(now.good_steps, 0);
  EXPECT_EQ(now.applied_steps, 7);
  EXPECT_EQ(now.skipped_steps, 1);
  step.scaler().restore({.scale = 1024, .good_steps = 1999, .applied_steps = 7, .skipped_steps = 1});
  step.run(batch, {1, 100, 2});
  now = step.scaler().read();
  EXPECT_FALSE(step.arena().params().equal(before));
  EXPECT_EQ(now.scale, 2048);
  EXPECT_EQ(now.applied_steps, 8);
}

TEST_F(TrainStepGpu, OverflowOnTheWayUphillSkipsTheStepToo) {
  const Experiment e = tiny_experiment({"train.precision=fp16", "optimizer.type=adamw", "train.sam.rho=0.1"});
  const Batch batch = first_batch(e);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCUDA);
  const at::Tensor before = step.arena().params().clone();
  step.scaler().restore({.scale = 1e30, .good_steps = 5, .applied_steps = 7, .skipped_steps = 0});
  step.run(batch, {0, 100, 2});
  EXPECT_TRUE(step.arena().params().equal(before));
  EXPECT_EQ(step.scaler().read().scale, 5e29) << "moved on once";
  EXPECT_EQ(step.scaler().read().skipped_steps, 1);
  step.scaler().restore({.scale = 1024, .good_steps = 0, .applied_steps = 7, .skipped_steps = 0});
  EXPECT_TRUE(std::isfinite(step.run(batch, {1, 100, 2}).grad_norm.item<double>())) << "with weights and copies as they were";
  EXPECT_FALSE(step.arena().params().equal(before));
}

void expect_same_bits_twice(const Experiment& e, const std::string& name) {
  const at::Tensor once = weights_of(e, 10, nullptr, at::kCUDA);
  EXPECT_TRUE(once.equal(weights_of(e, 10, nullptr, at::kCUDA))) << name;
}

TEST_F(TrainStepGpu, DeterministicRunsOfEveryModelEndInTheSameBits) {
  for (const std::string precision : {"train.precision=fp32", "train.precision=bf16"}) {
    for (const std::string& name : model_names()) {
      expect_same_bits_twice(small_model(name, {precision, "train.deterministic=true", "loss.type=ce_dice"}), name);
    }
    // Enough tokens for attention to be divided among blocks, whose sums could come in any order.
    expect_same_bits_twice(small_model("segmenter", {precision, "train.deterministic=true", "data.synthetic.size=256",
                                                     "model.segmenter={patch: 8, width: 128, layers: 2, heads: 2}"}),
                           "segmenter of 1,025 tokens");
  }
}

// On batches that differ, with and without recording.
void expect_recording_changes_nothing(const Experiment& e, const std::string& name) {
  at::Tensor weights[2];
  for (const bool recorded : {false, true}) {
    Experiment other = e;
    other.train.cuda_graph = recorded;
    Batch batch = uneven_batch(e);
    TrainStep step(other, make_model(e.model, {3, 4}, 1), 4, at::kCUDA);
    for (int i = 0; i < 8; ++i) {
      step.run(batch, {i, 100, 2});
      batch.images = batch.images.flip(2);
      batch.labels = batch.labels.roll(1, 0);
      for (int64_t& draw : batch.draws) ++draw;
    }
    EXPECT_EQ(step.recorded(), recorded) << name;
    weights[recorded] = step.arena().params().cpu();
  }
  EXPECT_TRUE(weights[0].equal(weights[1])) << name;
}

TEST_F(TrainStepGpu, RecordedPassesEndInTheSameBits) {
  const std::vector<std::string> options{"train.precision=bf16", "train.deterministic=true", "loss.type=ce_dice",
                                         "loss.class_weights=[1,2,3,4]"};
  for (const std::string& name : model_names()) expect_recording_changes_nothing(small_model(name, options), name);
  std::vector<std::string> mixed = kMixing;
  mixed.insert(mixed.end(), {"model.unet.dropout=0.3", "train.deterministic=true"});
  expect_recording_changes_nothing(tiny_experiment(mixed), "mixed samples");
  std::vector<std::vector<std::string>> algorithms = kAlgorithms;
  algorithms.insert(algorithms.end(), kRules.begin(), kRules.end());
  for (std::vector<std::string> algorithm : algorithms) {
    if (algorithm[0].find("finetune_fraction") != std::string::npos) continue;  // other shapes in each step
    algorithm.insert(algorithm.end(), {"train.precision=bf16", "train.deterministic=true"});
    expect_recording_changes_nothing(tiny_experiment(algorithm), algorithm[0]);
  }
}

// Waits for the GPU in its backward pass too, which no recording allows.
class CuriousModel : public SegmentationModel {
 public:
  explicit CuriousModel(ModelPtr inner) : inner_(register_module("inner", std::move(inner))) {}
  std::vector<std::string> head_prefixes() const override { return {}; }

 protected:
  std::vector<Segment> make_segments() override {
    const auto compute = [this](const Tensors& in) {
      Tensors output = run_segments(inner_->segments(), in);
      output[0] = output[0] * 1;
      output[0].register_hook(
          [](const at::Tensor& grad_logits) { EXPECT_TRUE(std::isfinite(grad_logits.sum().item<double>())); });
      return output;
    };
    return {{.name = "inner", .parts = {"inner"}, .compute = compute}};
  }

 private:
  ModelPtr inner_;
};

TEST_F(TrainStepGpu, WhatCannotBeRecordedIsRunAndChangesNothing) {
  const Experiment e = tiny_experiment({"train.deterministic=true", "model.unet.dropout=0.3"});
  const Batch batch = uneven_batch(e);
  TrainStep step(e, std::make_shared<CuriousModel>(make_model(e.model, {3, 4}, 1)), 4, at::kCUDA);
  for (int i = 0; i < 8; ++i) step.run(batch, {i, 100, 2});
  EXPECT_FALSE(step.recorded());
  EXPECT_TRUE(step.arena().params().cpu().equal(weights_of(e, 8, nullptr, at::kCUDA)));
}

// A real one: allocations of the GPU fail until the micro-batch fits.
TEST_F(TrainStepGpu, RealOutOfMemoryIsSurvived) {
  const double free_gb = static_cast<double>(cuda_plugin()->gpus()[0].memory_bytes) / 1e9;
  const auto side = static_cast<int64_t>(256 * std::sqrt(free_gb / 4));
  const Experiment e =
      tiny_experiment({"data.synthetic.size=64", "data.train.transforms=[{resize: {size: " + std::to_string(side) + "}}]",
                       "model.unet.channels=[64,64]", "train.batch_size=32", "train.norm_group=1"});
  const Batch batch = first_batch(e);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCUDA);
  step.run(batch, {0, 100, 2});
  EXPECT_GT(step.micro_batch(), 0);
  EXPECT_TRUE(step.arena().params().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace tessera
