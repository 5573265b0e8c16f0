// The same experiment on 1, 2, 3, 4 ranks, whole or in micro-batches, with or without split optimizer state: one result.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <mutex>

#include "data/datasets/dataset_factory.h"
#include "dist/thread_ranks.h"
#include "support/few_steps.h"

namespace tessera {
namespace {

using testing::relative_difference;

constexpr int kSteps = 10;  // five epochs

struct Outcome {
  at::Tensor params, buffers, average;  // average: of parameters and buffers, empty without one
  double loss = 0;
};

// Labels that are missing unevenly: some samples have none, some a strip, some all. A function of the sample, so alike on
// all ranks.
void drop_labels(Batch& batch) {
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t id = batch.indices[static_cast<size_t>(i)];
    if (id % 4 == 0) batch.labels[i].fill_(kIgnoreLabel);
    if (id % 4 == 1) batch.labels[i].slice(0, 0, 5 + id).fill_(kIgnoreLabel);
  }
}

Outcome train(const std::vector<std::string>& overrides, int ranks, bool sharded = false,
              const std::vector<double>& weights = {}) {
  const Experiment e = testing::tiny_experiment(overrides);
  Outcome outcome;
  std::mutex mutex;
  const auto body = [&](World& world) {
    DataConfig source = e.data;
    source.labels.multi = false;  // its labels of four classes serve as the sets of two
    const int num_classes = e.data.labels.multi ? 2 : 4;
    const DatasetPtr data = make_dataset(source, Split::kTrain);
    const Pipeline pipeline = make_pipeline(e.data, Split::kTrain);
    Quarantine quarantine(data->size(), 0.0);
    TrainStep step(e, make_model(e.model, {3, num_classes}, 1), num_classes, at::kCPU, world,
                   {.sharded = sharded, .rank_weights = weights});
    Loader loader(*data, pipeline, quarantine,
                  {.batch_size = e.train.batch_size,
                   .seed = 1,
                   .positions = step.slice().positions,
                   .mix = {e.train.mixup, e.train.cutmix}},
                  0);
    at::Tensor loss;
    for (int i = 0; i < kSteps; ++i) {
      Batch batch = loader.next();
      drop_labels(batch);
      loss = step.run(batch, {i, kSteps, 2}).loss;
    }
    if (const int64_t batches = e.train.precise_bn.batches.value_or(0); batches > 0)
      step.measure_statistics([&] { return loader.next(); }, batches, {kSteps, kSteps, 2}, step.arena().buffers());
    at::Tensor average = at::empty({0}, at::kDouble);
    for (const auto& [name, value] : step.average().state()) average = at::cat({average, value.flatten().to(at::kDouble)});
    const std::lock_guard lock(mutex);
    if (world.is_first())
      outcome = {step.arena().params().clone(), step.arena().buffers().clone(), average, loss.item<double>()};
  };
  if (ranks == 1) {
    World alone;
    body(alone);
  } else {
    run_on_threads(ranks, false, std::chrono::seconds(300), body);
  }
  return outcome;
}

void expect_same(const Outcome& a, const Outcome& b, double tolerance, const std::string& what) {
  EXPECT_LT(relative_difference(a.params, b.params), tolerance) << what;
  if (a.buffers.numel() > 0) {
    EXPECT_LT(relative_difference(a.buffers, b.buffers), tolerance) << what;
  }
  ASSERT_EQ(a.average.numel(), b.average.numel()) << what;
  if (a.average.numel() > 0) {
    EXPECT_LT(relative_difference(a.average, b.average), tolerance) << what;
  }
  EXPECT_NEAR(a.loss, b.loss, tolerance * 10) << what;
}

// All ranks x micro-batches x {replicated, ZeRO-1} of one experiment in float64, where only the order of sums differs.
void expect_invariant(std::vector<std::string> experiment, const std::vector<int>& micro_batches) {
  experiment.insert(experiment.end(), {"train.precision=fp64", "model.unet.dropout=0.3", "optimizer.momentum=0.9",
                                       "optimizer.clip_norm=0.5", "optimizer.lr=0.02"});
  const Outcome reference = train(experiment, 1);
  ASSERT_TRUE(reference.params.isfinite().all().item<bool>());
  for (const int ranks : {1, 2, 4}) {
    for (const int micro : micro_batches) {
      for (const bool sharded : {false, true}) {
        if (ranks == 1 && sharded) continue;
        std::vector<std::string> cut = experiment;
        cut.push_back("train.micro_batch=" + std::to_string(micro));
        expect_same(
            reference, train(cut, ranks, sharded), 1e-9,
            experiment[0] + " ranks " + std::to_string(ranks) + " micro " + std::to_string(micro) + (sharded ? " zero1" : ""));
      }
    }
  }
}

TEST(Invariance, WithoutBatchNorm) {
  expect_invariant({"model.unet.batch_norm=false", "loss.type=ce"}, {1, 2, 4});
}

TEST(Invariance, BatchNormUnitsWholeOnARank) {
  expect_invariant({"train.norm_group=1", "loss.type=ce_dice"}, {1, 2, 4});
}

TEST(Invariance, BatchNormUnitsOfTwo) {
  expect_invariant({"train.norm_group=2", "loss.type=ce"}, {2, 4});
}

// One unit of all 8 samples: spread over the ranks, whatever the micro-batch.
TEST(Invariance, BatchNormUnitSpreadOverRanks) {
  expect_invariant({"train.norm_group=8", "loss.type=ce_dice"}, {8});
}

// Partners on other ranks and in other micro-batches.
TEST(Invariance, MixUpAndCutMix) {
  const std::vector<std::string> mixing{"loss.type=ce_dice", "train.mixup.alpha=0.4", "train.mixup.probability=0.5",
                                        "train.cutmix.alpha=1", "train.cutmix.probability=0.4"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), mixing.begin(), mixing.end());
    more.insert(more.end(), {"train.precision=fp64", "model.unet.dropout=0.3"});
    return more;
  };
  const Outcome reference = train(with({"train.norm_group=1"}), 1),
                plain = train({"train.norm_group=1", "loss.type=ce_dice", "train.precision=fp64", "model.unet.dropout=0.3"}, 1);
  EXPECT_GT(relative_difference(reference.params, plain.params), 1e-3);
  for (const int ranks : {1, 2}) {
    for (const char* micro : {"train.micro_batch=1", "train.micro_batch=3"})
      expect_same(reference, train(with({"train.norm_group=1", micro}), ranks, ranks > 1), 1e-9, std::string(micro) + " mixed");
  }
  expect_same(train(with({"train.norm_group=8"}), 1), train(with({"train.norm_group=8"}), 2), 1e-9, "spread units, mixed");
  const std::vector<std::string> uneven = with({"train.batch_size=7", "train.norm_group=3"});
  const Outcome odd = train(uneven, 1);
  expect_same(odd, train(uneven, 3), 1e-9, "3 ranks, batch 7, mixed");
  expect_same(odd, train(uneven, 2, false, {3, 1}), 1e-9, "weights 3 : 1, mixed");
  const std::vector<std::string> few = with({"train.batch_size=2", "train.norm_group=2"});
  expect_same(train(few, 1), train(few, 3), 1e-9, "more ranks than samples, mixed");
}

// Hard pixels and sorted errors are those of an image; how many are hard, and overlaps, those of the batch.
TEST(Invariance, LossesOfSelectedAndSortedPixels) {
  expect_invariant(
      {"train.norm_group=2",
       "loss.terms=[{ohem: {threshold: 0.5, class_weights: [1, 2, 0.5, 1]}}, lovasz, {tversky: {gamma: 0.75, smooth: 1}}, "
       "{boundary_ce: {weight: 0.1}}, {focal: {class_weights: [1, 2, 0.5, 1]}}]"},
      {2, 4});
}

TEST(Invariance, LossesOfSelectedAndSortedPixelsMixed) {
  expect_invariant({"train.norm_group=8", "loss.terms=[{ohem: {threshold: 0.5}}, lovasz, {tversky: {smooth: 1}}, boundary_ce]",
                    "optimizer.lr=0.005", "train.mixup.alpha=0.4", "train.mixup.probability=0.5", "train.cutmix.alpha=1",
                    "train.cutmix.probability=0.4"},
                   {8});
}

// A loss at each height of the decoder, with prediction sums of its own.
TEST(Invariance, DeepSupervision) {
  expect_invariant(
      {"train.norm_group=2", "model.unet.channels=[4, 8, 8]", "model.unet.deep_supervision=2", "loss.type=ce_dice"}, {2, 4});
}

// Labels that are sets of classes, blended ones among them.
TEST(Invariance, ClassesThatOverlap) {
  expect_invariant({"data.labels.multi=true", "train.norm_group=2", "loss.terms=[bce, dice, focal]", "train.mixup.alpha=0.4",
                    "train.mixup.probability=0.5"},
                   {2, 4});
}

// The average of parameters (a slice of them per rank with ZeRO-1) and batch norm's statistics, which begins on its way.
TEST(Invariance, MovingAverage) {
  const std::vector<std::string> experiment{"train.norm_group=8", "loss.type=ce_dice", "train.ema.half_life=4ba",
                                            "train.ema.update_interval=2ba", "train.ema.start=5ba"};
  expect_invariant(experiment, {8});
  const Outcome with = train(experiment, 1), without = train({experiment[0], experiment[1]}, 1);
  EXPECT_GT(with.average.numel(), with.buffers.numel());
  EXPECT_EQ(without.average.numel(), 0);
  EXPECT_TRUE(with.params.equal(without.params));  // training does not see it
}

// The gradient that shows the way uphill is that of the global batch: its norm is taken after the ranks' parts are added.
TEST(Invariance, SharpnessAware) {
  const std::vector<std::string> sam{"loss.type=ce_dice", "train.sam.rho=0.2", "train.sam.interval=2",
                                     "train.ema.smoothing=0.9"};
  for (const auto& [units, micro_batches] :
       {std::pair<std::string, std::vector<int>>{"train.norm_group=2", {2, 4}}, {"train.norm_group=8", {8}}}) {
    std::vector<std::string> experiment{units};
    experiment.insert(experiment.end(), sam.begin(), sam.end());
    expect_invariant(experiment, micro_batches);
  }
}

// The plain average with its rate, and statistics measured anew for the weights that are there at the end.
TEST(Invariance, WeightsAveragedAndStatisticsMeasured) {
  for (const auto& [units, micro_batches] :
       {std::pair<std::string, std::vector<int>>{"train.norm_group=2", {2, 4}}, {"train.norm_group=8", {8}}})
    expect_invariant({units, "loss.type=ce", "train.swa.start=0.5dur", "train.swa.update_interval=3ba", "train.swa.lr=0.01",
                      "train.precise_bn.batches=3"},
                     micro_batches);
}

// Images of several sizes, mixed, and parts that begin and end to be trained.
TEST(Invariance, ImagesThatGrowAndPartsAtRest) {
  for (const char* mode : {"resize", "crop"})
    expect_invariant({"train.norm_group=2", "loss.type=ce_dice", "optimizer.type=adamw",
                      fmt::format("train.progressive_resizing={{initial_scale: 0.5, delay_fraction: 0.2, mode: {}}}", mode),
                      "train.mixup.alpha=0.4", "train.mixup.probability=0.5", "train.cutmix.alpha=1",
                      "train.cutmix.probability=0.4", "model.freeze=['down0 until 4ba', 'classifier from 6ep']",
                      "train.layer_freezing={level: 0.7, start: 0.4dur}", "train.ema.smoothing=0.8"},
                     {2, 4});
}

// What is divided by all pixels, also the ignored ones of other ranks; and rates that differ by group all the way.
TEST(Invariance, MeanOverAllPixelsAndFinalRate) {
  const std::vector<std::string> experiment{"train.norm_group=8",
                                            "loss.mean=all",
                                            "optimizer.type=decoupled_sgd",
                                            "optimizer.weight_decay=0.01",
                                            "optimizer.lr_scaling=linear",
                                            "optimizer.base_batch=4",
                                            "optimizer.lr_multipliers={classifier: 10}",
                                            "schedule.final_lr=0.01"};
  expect_invariant(experiment, {8});
  std::vector<std::string> labelled = experiment;
  labelled[1] = "loss.mean=labelled";
  EXPECT_GT(relative_difference(train(experiment, 1).params, train(labelled, 1).params), 1e-6);
}

// Lengths of whole tensors, which ZeRO-1's slices cut.
TEST(Invariance, Lamb) {
  expect_invariant({"train.norm_group=2", "loss.type=ce", "optimizer.type=lamb", "optimizer.weight_decay=0.01",
                    "optimizer.eps=1e-4", "train.ema.smoothing=0.9"},
                   {2});
}

TEST(Invariance, LarsAndLion) {
  expect_invariant({"train.norm_group=2", "loss.type=ce", "optimizer.type=lars", "optimizer.weight_decay=0.01",
                    "optimizer.trust_coefficient=0.1", "train.ema.smoothing=0.9"},
                   {2});
  // A sign is 1 or -1 on either side of nothing: only gradients that are not nearly 0 step alike.
  expect_invariant({"train.norm_group=2", "loss.type=ce", "optimizer.type=lion", "optimizer.weight_decay=0.01"}, {2});
}

TEST(Invariance, UnevenRanksUnitsAndWeights) {
  const std::vector<std::string> experiment{"train.norm_group=3", "loss.type=ce_dice", "train.precision=fp64",
                                            "train.batch_size=7", "optimizer.type=adamw"};
  const Outcome reference = train(experiment, 1);
  expect_same(reference, train(experiment, 3), 1e-9, "3 ranks, batch 7 in units of 3");
  expect_same(reference, train(experiment, 2, true, {3, 1}), 1e-9, "weights 3 : 1");
  std::vector<std::string> more = experiment;
  more.back() = "train.batch_size=2";
  expect_same(train(more, 1), train(more, 3), 1e-9, "more ranks than samples");
}

// float32: rounding, amplified by 20 steps of training, stays below this.
TEST(Invariance, Float32StaysClose) {
  const std::vector<std::string> experiment{"train.norm_group=4", "loss.type=ce"};
  const Outcome reference = train(experiment, 1);
  for (const int ranks : {2, 4})
    expect_same(reference, train(experiment, ranks), 5e-3, std::to_string(ranks) + " ranks, float32");
}

}  // namespace
}  // namespace tessera
