#include "train/train_step.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <set>

#include "dist/thread_ranks.h"
#include "support/few_steps.h"
#include "support/small_models.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

using testing::expect_overfits_one_batch;
using testing::first_batch;
using testing::relative_difference;
using testing::tiny_experiment;
using testing::uneven_batch;
using testing::weights_after;
using testing::weights_of;

// Runs out of memory, in the middle of its forward pass, whenever more than `limit` samples come at once.
class ThirstyModel : public SegmentationModel {
 public:
  ThirstyModel(ModelPtr inner, int64_t limit) : inner_(register_module("inner", std::move(inner))), limit_(limit) {}
  std::vector<std::string> head_prefixes() const override { return {}; }

 protected:
  std::vector<Segment> make_segments() override {
    const auto compute = [this](const Tensors& in) {
      Tensors output = run_segments(inner_->segments(), in);
      if (in[0].size(0) > limit_) C10_THROW_ERROR(OutOfMemoryError, "made for the test");
      return output;
    };
    return {{.name = "inner", .parts = {"inner"}, .compute = compute}};
  }

 private:
  ModelPtr inner_;
  int64_t limit_;
};

// Keeps what the samples of its last pass drew their random numbers by.
class KeyKeeper : public SegmentationModel {
 public:
  explicit KeyKeeper(ModelPtr inner) : inner_(register_module("inner", std::move(inner))) {}
  std::vector<std::string> head_prefixes() const override { return {}; }
  at::Tensor keys;

 protected:
  std::vector<Segment> make_segments() override {
    const auto compute = [this](const Tensors& in) {
      keys = step_context().sample_keys.clone();
      return run_segments(inner_->segments(), in);
    };
    return {{.name = "inner", .parts = {"inner"}, .compute = compute}};
  }

 private:
  ModelPtr inner_;
};

// Three images in a batch of eight: each comes two or three times.
TEST(TrainStep, SamplesThatComeAgainInABatchHaveDropoutOfTheirOwn) {
  const Experiment e = tiny_experiment({"data.train.count=3", "train.micro_batch=0"});
  const Batch batch = first_batch(e);
  const auto model = std::make_shared<KeyKeeper>(make_model(e.model, {3, 4}, 1));
  TrainStep(e, model, 4, at::kCPU).run(batch, {0, 10, 1});
  std::set<int64_t> keys, samples(batch.indices.begin(), batch.indices.end());
  for (int64_t i = 0; i < model->keys.numel(); ++i) keys.insert(model->keys[i].item<int64_t>());
  EXPECT_EQ(samples.size(), 3U);
  EXPECT_EQ(keys.size(), 8U);
}

// float64, so that only the order of sums differs: 1e-9 is far above its rounding and far below any real difference.
TEST(TrainStep, MicroBatchChangesNothing) {
  for (const char* loss : {"[ce]", "[ce, dice]", "[dice]", "[focal]"}) {
    const std::vector<std::string> common{"train.precision=fp64", "model.unet.dropout=0.3", "optimizer.clip_norm=0.5",
                                          "optimizer.momentum=0.9", std::string("loss.terms=") + loss};
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

// Two of the terms need sums over predictions, of both heads.
TEST(TrainStep, MicroBatchChangesNothingWithSeveralTermsAnAuxiliaryHeadAndMixUp) {
  const auto weights = [](const char* micro) {
    return weights_of(
        testing::small_model("pspnet", {"train.precision=fp64", "train.norm_group=2", "train.mixup.alpha=0.4", micro,
                                        "loss.terms=[{ce: {weight: 0.5, label_smoothing: 0.1}}, dice, {focal: {gamma: 1.5}}, "
                                        "{dice: {weight: 2, smooth: 1}}]"}),
        3);
  };
  const at::Tensor whole = weights("train.micro_batch=0");
  EXPECT_LT(relative_difference(whole, weights("train.micro_batch=4")), 1e-9);
  EXPECT_LT(relative_difference(whole, weights("train.micro_batch=2")), 1e-9);
}

// lr_scaling only says how lr comes about: what it is multiplied by must not be seen anywhere else, as in the weight decay.
TEST(TrainStep, AScaledRateIsThatRate) {
  for (const char* type : {"sgd", "decoupled_sgd", "adamw"}) {
    const std::vector<std::string> common{"train.precision=fp64", "optimizer.weight_decay=0.1",
                                          std::string("optimizer.type=") + type};
    const auto after = [&](std::vector<std::string> own) {
      own.insert(own.end(), common.begin(), common.end());
      return weights_after(own, 4);
    };
    const at::Tensor written = after({"optimizer.lr=0.08"});
    EXPECT_LT(
        relative_difference(written, after({"optimizer.lr=0.02", "optimizer.lr_scaling=linear", "optimizer.base_batch=2"})),
        1e-12)
        << type;
    EXPECT_LT(relative_difference(written, after({"optimizer.lr=0.04", "optimizer.lr_scaling=sqrt", "optimizer.base_batch=2"})),
              1e-12)
        << type;
    EXPECT_GT(relative_difference(written, after({"optimizer.lr=0.02"})), 1e-6) << type;
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
      for (int i = 0; i < 4; ++i) step.run(batch, {i, 100, 2});
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
      const auto& positions = step.slice().positions;
      Batch own{batch.images.index_select(0, at::tensor(positions)),
                batch.labels.index_select(0, at::tensor(positions)),
                batch.max_value,
                {}};
      for (const int64_t position : positions) {
        own.indices.push_back(batch.indices[static_cast<size_t>(position)]);
        own.draws.push_back(batch.draws[static_cast<size_t>(position)]);
      }
      for (int i = 0; i < 4; ++i) step.run(own, {i, 100, 2});
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
    step.run(uneven_batch(e), {0, 100, 2});
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
    step.run(batch, {i, 100, 2});
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
  step.run(batch, {8, 100, 2});
  EXPECT_GT(relative_difference(raw, now()), 1e-9);  // and training goes on with its own
}

TEST(TrainStep, OverfitsOneBatchInEveryPrecision) {
  for (const char* precision : {"fp32", "bf16"}) expect_overfits_one_batch(precision, at::kCPU);
}

TEST(TrainStep, AllIgnoredBatchGivesZeroLossAndNoNaN) {
  const Experiment e = tiny_experiment({"loss.type=ce_dice"});
  Batch batch = first_batch(e);
  batch.labels.fill_(kIgnoreLabel);
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
  EXPECT_EQ(step.run(batch, {0, 10, 2}).loss.item<double>(), 0.0);
  EXPECT_TRUE(step.arena().params().isfinite().all().item<bool>());
}

TEST(TrainStep, LabelsThatAreNoClassAreRefused) {
  const Experiment e = tiny_experiment();
  Batch batch = first_batch(e);
  batch.labels[3][0][0] = 4;
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
  try {
    step.run(batch, {0, 10, 2});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("expected labels in -1..3, got"), std::string::npos) << error.what();
  }
}

TEST(TrainStep, BinaryModelHasOneChannel) {
  const Experiment e = tiny_experiment({"loss.type=bce", "data.synthetic.kind=cells", "data.synthetic.size=48"});
  const Batch batch = first_batch(e);
  TrainStep step(e, make_model(e.model, {3, logit_channels(e.loss, 2)}, 1), 2, at::kCPU);
  const double first = step.run(batch, {0, 10, 2}).loss.item<double>();
  double last = first;
  for (int i = 1; i < 20; ++i) last = step.run(batch, {i, 100, 2}).loss.item<double>();
  EXPECT_LT(last, first);
}

// torchvision's reference training weighs the auxiliary loss by 0.5, mmsegmentation by 0.4.
TEST(TrainStep, AuxiliaryLossHasTheWeightOfTheHeadsLibrary) {
  const auto loss = [](const std::string& layout, const std::vector<std::string>& more) {
    std::vector<std::string> settings{"model.fcn.aux.enabled=true", "model.fcn.layout=" + layout};
    settings.insert(settings.end(), more.begin(), more.end());
    const Experiment e = testing::small_model("fcn", settings);
    TrainStep step(e, make_model(e.model, {3, 4}, 3), 4, at::kCPU);
    return step.run(first_batch(e), {0, 100, 2}).loss.item<double>();
  };
  for (const auto& [layout, weight] : {std::pair{"torchvision", 0.5}, std::pair{"mmseg", 0.4}}) {
    const double plain = loss(layout, {"loss.aux_weight=0"}), whole = loss(layout, {"loss.aux_weight=1"});
    ASSERT_GT(whole, plain + 0.1);
    EXPECT_NEAR(loss(layout, {}), plain + weight * (whole - plain), 1e-5) << layout;
  }
}

// With factor a from each height to the next the loss is (L0 + a L1 + a^2 L2) / (1 + a + a^2); nnU-Net's a is 1/2.
TEST(TrainStep, DeepSupervisionIsTheWeightedMeanOverHeights) {
  for (const std::string model : {"unet", "unet_resnet"}) {
    const auto loss = [&](const std::vector<std::string>& more) {
      std::vector<std::string> settings{"model.unet.channels=[8, 8, 16]",
                                        "model.unet.deep_supervision=2",
                                        "model.unet.dropout=0",
                                        "model.unet_resnet.deep_supervision=2",
                                        "loss.type=ce_dice",
                                        "train.precision=fp64"};
      settings.insert(settings.end(), more.begin(), more.end());
      const Experiment e = testing::small_model(model, settings);
      TrainStep step(e, make_model(e.model, {3, 4}, 3), 4, at::kCPU);
      return step.run(first_batch(e), {0, 100, 2}).loss.item<double>();
    };
    const double top = loss({"loss.aux_weight=0"});
    const double one = 3 * loss({"loss.aux_weight=1"}) - top,
                 two = 7 * loss({"loss.aux_weight=2"}) - top;  // L1 + L2, 2 L1 + 4 L2
    const double lowest = (two - 2 * one) / 2, middle = one - lowest;
    ASSERT_GT(std::abs(lowest - middle), 1e-3);
    EXPECT_NEAR(loss({}), (top + middle / 2 + lowest / 4) / 1.75, 1e-9) << model;
  }
}

// In evaluation the lower heights are not computed, and their classifiers are the only parameters beyond those of the plain
// one.
TEST(TrainStep, DeepSupervisionIsNotThereInEvaluation) {
  const auto model_of = [&](const std::string& supervised) {
    const std::vector<std::string> settings{"model.unet.channels=[8, 8, 16]", "model.unet.dropout=0",
                                            "model.unet.deep_supervision=" + supervised};
    return make_model(testing::small_model("unet", settings).model, {3, 4}, 3);
  };
  const ModelPtr plain = model_of("0"), deep = model_of("2");
  EXPECT_EQ(count_parameters(*deep) - count_parameters(*plain), (8 + 1) * 4 + (16 + 1) * 4);
  const at::Tensor x = torch::randn({1, 3, 21, 30});
  plain->eval();
  deep->eval();
  EXPECT_TRUE(deep->forward(x).aux.empty());
  EXPECT_TRUE(deep->forward(x).logits().equal(plain->forward(x).logits()));
  deep->train();
  const ModelOutput output = deep->forward(x);
  ASSERT_EQ(output.aux.size(), 2U);
  for (const at::Tensor& aux : output.aux) EXPECT_EQ(aux.sizes(), output.logits().sizes());  // padded to 24 x 32, and cut
}

}  // namespace
}  // namespace tessera
