#include "train/train_step.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "dist/thread_ranks.h"
#include "support/small_models.h"
#include "tensor/device.h"

namespace tessera {
namespace {

using testing::first_batch;
using testing::small_model;
using testing::tiny_experiment;

// A batch whose ignored pixels are spread unevenly.
Batch uneven_batch(const Experiment& e) {
  Batch batch = first_batch(e);
  batch.labels[0].fill_(kIgnoreLabel);
  batch.labels[1].slice(0, 0, 20).fill_(kIgnoreLabel);
  batch.labels[5].slice(1, 3, 9).fill_(kIgnoreLabel);
  return batch;
}

// Weights after some steps on that batch.
at::Tensor weights_of(const Experiment& e, int steps, at::Tensor* buffers = nullptr, at::Device device = at::kCPU) {
  const Batch batch = uneven_batch(e);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, device);
  for (int i = 0; i < steps; ++i) step.run(batch, i, 100, 2);
  if (buffers != nullptr) *buffers = step.arena().buffers().cpu().clone();
  return step.arena().params().cpu().clone();
}
at::Tensor weights_after(const std::vector<std::string>& overrides, int steps, at::Tensor* buffers = nullptr,
                         at::Device device = at::kCPU) {
  return weights_of(tiny_experiment(overrides), steps, buffers, device);
}

// Runs out of memory, in the middle of its forward pass, whenever more than `limit` samples come at once.
class ThirstyModel : public SegmentationModel {
 public:
  ThirstyModel(ModelPtr inner, int64_t limit) : inner_(register_module("inner", std::move(inner))), limit_(limit) {}
  ModelOutput forward(const at::Tensor& x) override {
    const ModelOutput output = inner_->forward(x);
    if (x.size(0) > limit_) C10_THROW_ERROR(OutOfMemoryError, "made for the test");
    return output;
  }
  std::vector<std::string> head_prefixes() const override { return {}; }

 private:
  ModelPtr inner_;
  int64_t limit_;
};

double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / a.abs().max()).item<double>();
}

// float64, so that only the order of sums differs: 1e-9 is far above its rounding and far below any real difference.
TEST(TrainStep, MicroBatchChangesNothing) {
  for (const char* loss : {"ce", "ce_dice", "dice", "focal"}) {
    const std::vector<std::string> common{"train.precision=fp64", "model.unet.dropout=0.3", "optimizer.clip_norm=0.5",
                                          "optimizer.momentum=0.9", std::string("loss.type=") + loss};
    at::Tensor whole_buffers, part_buffers;
    const at::Tensor whole = weights_after(common, 6, &whole_buffers);
    for (const char* micro : {"train.micro_batch=4", "train.micro_batch=2"}) {
      std::vector<std::string> cut = common;
      cut.emplace_back(micro);
      EXPECT_LT(relative_difference(whole, weights_after(cut, 6, &part_buffers)), 1e-9) << loss << " " << micro;
      EXPECT_LT(relative_difference(whole_buffers, part_buffers), 1e-9) << loss << " " << micro;
    }
  }
}

TEST(TrainStep, OutOfMemoryShrinksTheMicroBatchAndChangesNothing) {
  for (const char* loss : {"loss.type=ce", "loss.type=ce_dice"}) {
    const Experiment e = tiny_experiment({"train.precision=fp64", "model.unet.dropout=0.3", loss});
    const Batch batch = uneven_batch(e);
    std::vector<at::Tensor> params, buffers;
    for (const int64_t limit : {100, 3}) {
      const auto model = std::make_shared<ThirstyModel>(make_model(e.model, {3, 4}, 1), limit);
      TrainStep step(e, model, 4, at::kCPU);
      for (int i = 0; i < 4; ++i) step.run(batch, i, 100, 2);
      EXPECT_EQ(step.micro_batch(), limit == 3 ? 2 : 0);
      params.push_back(step.arena().params().clone());
      buffers.push_back(step.arena().buffers().clone());
    }
    EXPECT_LT(relative_difference(params[0], params[1]), 1e-9) << loss;
    EXPECT_LT(relative_difference(buffers[0], buffers[1]), 1e-9) << loss;
  }
}

// One of two ranks has less memory than the other: it goes on in smaller passes, the result is that of one rank with
// enough.
TEST(TrainStep, OutOfMemoryOnOneRankChangesNothing) {
  for (const char* loss : {"loss.type=ce", "loss.type=ce_dice"}) {
    const Experiment e = tiny_experiment({"train.precision=fp64", "model.unet.dropout=0.3", "dist.bucket_mb=0.0001", loss});
    const Batch batch = uneven_batch(e);
    const auto weights = [&](World& world, int64_t limit) {
      TrainStep step(e, std::make_shared<ThirstyModel>(make_model(e.model, {3, 4}, 1), limit), 4, at::kCPU, world);
      const auto& positions = step.share().positions;
      Batch own{batch.images.index_select(0, at::tensor(positions)),
                batch.labels.index_select(0, at::tensor(positions)),
                batch.max_value,
                {}};
      for (const int64_t position : positions) own.indices.push_back(batch.indices[static_cast<size_t>(position)]);
      for (int i = 0; i < 4; ++i) step.run(own, i, 100, 2);
      EXPECT_EQ(step.micro_batch(), limit == 3 ? 2 : 0);
      return at::cat({step.arena().params(), step.arena().buffers()});
    };
    World alone;
    const at::Tensor expected = weights(alone, 100);
    run_on_threads(2, false, std::chrono::seconds(120), [&](World& world) {
      EXPECT_LT(relative_difference(expected, weights(world, world.rank() == 1 ? 3 : 100)), 1e-9) << loss;
    });
  }
}

TEST(TrainStep, WhereEvenOneUnitDoesNotFitTheErrorSaysWhatToChange) {
  const Experiment e = tiny_experiment();
  TrainStep step(e, std::make_shared<ThirstyModel>(make_model(e.model, {3, 4}, 1), 1), 4, at::kCPU);
  try {
    step.run(uneven_batch(e), 0, 100, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("set train.norm_group lower"), std::string::npos) << error.what();
  }
}

TEST(TrainStep, OtherUnitsAreAnotherExperiment) {
  const at::Tensor two = weights_after({"train.precision=fp64"}, 2),
                   four = weights_after({"train.precision=fp64", "train.norm_group=4"}, 2);
  EXPECT_GT(relative_difference(two, four), 1e-6);
}

TEST(TrainStep, SameRunSameBits) {
  EXPECT_TRUE(weights_after({}, 3).equal(weights_after({}, 3)));
}

// Composer's rule, worked out beside the run: it begins as a copy before step 3, and moves after steps 4, 6 and 8.
TEST(TrainStep, MovingAverageFollowsParametersAndStatistics) {
  const Experiment e = tiny_experiment(
      {"train.precision=fp64", "train.ema.smoothing=0.75", "train.ema.update_interval=2ba", "train.ema.start=3ba"});
  const Batch batch = first_batch(e);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
  const auto now = [&] { return at::cat({step.arena().params(), step.arena().buffers()}); };
  at::Tensor expected;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(step.average().begun(), i > 3);
    if (i == 3) expected = now().clone();
    step.run(batch, i, 100, 2);
    if (i >= 3 && (i + 1) % 2 == 0) expected = 0.75 * expected + 0.25 * now();
  }
  const at::Tensor raw = now().clone();
  const at::Tensor weight = step.arena().places()[0].parameter;
  {
    const auto scope = step.average().use();
    EXPECT_EQ(weight.data_ptr<double>(), step.average().params().data_ptr<double>());
  }
  EXPECT_EQ(weight.data_ptr<double>(), step.arena().params().data_ptr<double>());
  const at::Tensor average = step.average().params();
  EXPECT_LT(relative_difference(expected.narrow(0, 0, average.numel()), average), 1e-14);
  EXPECT_GT(relative_difference(raw, expected), 1e-6);
  double squares = 0;
  for (const auto& entry : step.average().state()) squares += entry.second.square().sum().item<double>();
  // Order within a tensor aside (channels last), names see the same values, batch norm's statistics among them.
  EXPECT_NEAR(squares, expected.square().sum().item<double>(), 1e-10);
  step.run(batch, 8, 100, 2);
  EXPECT_GT(relative_difference(raw, now()), 1e-9);  // and training goes on with its own
}

void expect_overfits_one_batch(const std::string& precision, at::Device device) {
  const Experiment e = tiny_experiment({"train.precision=" + precision, "optimizer.type=adamw", "optimizer.lr=0.01"});
  const Batch batch = first_batch(e);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, device);
  const double first = step.run(batch, 0, 100, 2).loss.item<double>();
  double last = first;
  for (int i = 1; i < 60; ++i) last = step.run(batch, i, 100, 2).loss.item<double>();
  EXPECT_LT(last, first * 0.4) << precision;
}

TEST(TrainStep, OverfitsOneBatchInEveryPrecision) {
  for (const char* precision : {"fp32", "bf16"}) expect_overfits_one_batch(precision, at::kCPU);
}

TEST(TrainStep, AllIgnoredBatchGivesZeroLossAndNoNaN) {
  const Experiment e = tiny_experiment({"loss.type=ce_dice"});
  Batch batch = first_batch(e);
  batch.labels.fill_(kIgnoreLabel);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
  EXPECT_EQ(step.run(batch, 0, 10, 2).loss.item<double>(), 0.0);
  EXPECT_TRUE(step.arena().params().isfinite().all().item<bool>());
}

TEST(TrainStep, BinaryModelHasOneChannel) {
  const Experiment e = tiny_experiment({"loss.type=bce", "data.synthetic.kind=cells", "data.synthetic.size=48"});
  const Batch batch = first_batch(e);
  TrainStep step(e, make_model(e.model, {3, logit_channels(e.loss, 2)}, 1), 2, at::kCPU);
  const double first = step.run(batch, 0, 10, 2).loss.item<double>();
  double last = first;
  for (int i = 1; i < 20; ++i) last = step.run(batch, i, 100, 2).loss.item<double>();
  EXPECT_LT(last, first);
}

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
      model->classify_in_loss(in_loss);
      losses[in_loss] = step.run(batch, 0, 100, 2).loss.cpu();
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
           {"train.cuda_graph=false", "loss.class_weights=[1,2,3,4]", "optimizer.clip_norm=1"},
           {"train.cuda_graph=false", "train.precision=bf16", "model.unet.dropout=0.3"}}) {
    const Experiment e = tiny_experiment(options);
    Batch batch = first_batch(e);
    batch.images = batch.images.pin_memory();  // as the trainer's loader does
    batch.labels = batch.labels.pin_memory();
    TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCUDA);
    for (int i = 0; i < 4; ++i) step.run(batch, i, 100, 2);
    cuda_plugin()->forbid_waiting(true);
    try {
      for (int i = 4; i < 7; ++i) step.run(batch, i, 100, 2);
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
  step.run(batch, 0, 100, 2);
  EXPECT_TRUE(step.arena().params().equal(before));
  LossScaling now = step.scaler().read();
  EXPECT_EQ(now.scale, 5e29);
  EXPECT_EQ(now.good_steps, 0);
  EXPECT_EQ(now.applied_steps, 7);
  EXPECT_EQ(now.skipped_steps, 1);
  step.scaler().restore({.scale = 1024, .good_steps = 1999, .applied_steps = 7, .skipped_steps = 1});
  step.run(batch, 1, 100, 2);
  now = step.scaler().read();
  EXPECT_FALSE(step.arena().params().equal(before));
  EXPECT_EQ(now.scale, 2048);
  EXPECT_EQ(now.applied_steps, 8);
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
      step.run(batch, i, 100, 2);
      batch.images = batch.images.flip(2);
      batch.labels = batch.labels.roll(1, 0);
      for (int64_t& id : batch.indices) ++id;
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
}

// Waits for the GPU in its backward pass too, which no recording allows.
class CuriousModel : public SegmentationModel {
 public:
  explicit CuriousModel(ModelPtr inner) : inner_(register_module("inner", std::move(inner))) {}
  ModelOutput forward(const at::Tensor& x) override {
    ModelOutput output = inner_->forward(x);
    output.logits = output.logits * 1;
    output.logits.register_hook([](const at::Tensor& slope) { EXPECT_TRUE(std::isfinite(slope.sum().item<double>())); });
    return output;
  }
  std::vector<std::string> head_prefixes() const override { return {}; }

 private:
  ModelPtr inner_;
};

TEST_F(TrainStepGpu, WhatCannotBeRecordedIsRunAndChangesNothing) {
  const Experiment e = tiny_experiment({"train.deterministic=true", "model.unet.dropout=0.3"});
  const Batch batch = uneven_batch(e);
  TrainStep step(e, std::make_shared<CuriousModel>(make_model(e.model, {3, 4}, 1)), 4, at::kCUDA);
  for (int i = 0; i < 8; ++i) step.run(batch, i, 100, 2);
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
  step.run(batch, 0, 100, 2);
  EXPECT_GT(step.micro_batch(), 0);
  EXPECT_TRUE(step.arena().params().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace tessera
