#include "train/train_step.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "support/tiny_experiment.h"

namespace tessera {
namespace {

using testing::first_batch;
using testing::tiny_experiment;

// Weights after some steps on one batch whose ignored pixels are spread unevenly.
at::Tensor weights_after(const std::vector<std::string>& overrides, int steps, at::Tensor* buffers = nullptr) {
  const Experiment e = tiny_experiment(overrides);
  Batch batch = first_batch(e);
  batch.labels[0].fill_(kIgnoreLabel);
  batch.labels[1].slice(0, 0, 20).fill_(kIgnoreLabel);
  batch.labels[5].slice(1, 3, 9).fill_(kIgnoreLabel);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
  for (int i = 0; i < steps; ++i) step.run(batch, i, 100, 2);
  if (buffers != nullptr) *buffers = step.arena().buffers().clone();
  return step.arena().params().clone();
}

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

TEST(TrainStep, OtherUnitsAreAnotherExperiment) {
  const at::Tensor two = weights_after({"train.precision=fp64"}, 2),
                   four = weights_after({"train.precision=fp64", "train.norm_group=4"}, 2);
  EXPECT_GT(relative_difference(two, four), 1e-6);
}

TEST(TrainStep, SameRunSameBits) {
  EXPECT_TRUE(weights_after({}, 3).equal(weights_after({}, 3)));
}

TEST(TrainStep, OverfitsOneBatchInEveryPrecision) {
  for (const char* precision : {"fp32", "bf16"}) {
    const Experiment e =
        tiny_experiment({std::string("train.precision=") + precision, "optimizer.type=adamw", "optimizer.lr=0.01"});
    const Batch batch = first_batch(e);
    TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
    double first = 0, last = 0;
    for (int i = 0; i < 60; ++i) {
      last = step.run(batch, i, 100, 2).loss.item<double>();
      if (i == 0) first = last;
    }
    EXPECT_LT(last, first * 0.4) << precision;
  }
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

}  // namespace
}  // namespace tessera
