#include "train/freezing.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "support/few_steps.h"

namespace tessera {
namespace {

using testing::relative_difference;
using testing::tiny_experiment;
using testing::uneven_batch;
using testing::weights_after;

// The segments of tiny_experiment's U-Net: encoder0, encoder1, bottleneck, decoder1, decoder0, classifier.
int64_t resting(const std::string& setting, int64_t step) {
  const Experiment e = tiny_experiment({setting});
  const ModelPtr model = make_model(e.model, {3, 4}, 1);
  Arena arena(*model, at::kCPU, at::kFloat, true);
  Freezing(e, *model, arena).begin({step, 40, 4});
  int64_t segments = 0;
  for (const Segment& segment : model->segments()) {
    const bool trains = segment.parameters[0].requires_grad();
    EXPECT_TRUE(trains || segments == &segment - model->segments().data()) << "the first ones rest";
    segments += trains ? 0 : 1;
  }
  int64_t spans = 0;
  for (const ParamSpan& span : arena.spans()) spans += span.at_rest ? 1 : 0;
  EXPECT_EQ(spans > 0, segments > 0);
  return segments;
}

// 10 epochs of 4 steps: from the end of the fifth on, floor((epoch - 5) / 5 * level * 5) of six.
TEST(Freezing, SegmentsComeToRestEpochByEpochFromTheImageOn) {
  const std::vector<int64_t> expected{0, 0, 0, 0, 0, 0, 1, 2, 3, 4};
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    for (const int64_t step : {4 * epoch, 4 * epoch + 3})
      EXPECT_EQ(resting("train.layer_freezing.level=1", step), expected[static_cast<size_t>(epoch)]) << step;
  }
  EXPECT_EQ(resting("train.layer_freezing.level=0.5", 36), 2);
  EXPECT_EQ(resting("train.layer_freezing={level: 1, start: 0ba}", 4), 0);  // 5 * 0.1
  EXPECT_EQ(resting("train.layer_freezing={level: 1, start: 0ba}", 8), 1);
}

TEST(Freezing, APartAtRestKeepsItsBitsAndTheOthersGoOn) {
  for (const char* checkpointing : {"model.unet.checkpoint=false", "model.unet.checkpoint=true"}) {
    const Experiment e = tiny_experiment({"model.freeze=['down0 from 2ba until 4ba', bottleneck]", "optimizer.weight_decay=0.1",
                                          "optimizer.momentum=0.9", "train.ema.smoothing=0.5", checkpointing});
    const ModelPtr model = make_model(e.model, {3, 4}, 1);
    TrainStep step(e, model, 4, at::kCPU);
    const auto part = [&](const char* name) { return model->parameters_of(name)[0].detach().clone(); };
    const at::Tensor bottleneck = part("bottleneck");
    for (int i = 0; i < 6; ++i) {
      const at::Tensor weights = part("down0"), others = part("down1");
      step.run(uneven_batch(e), {i, 100, 2});
      const bool rests = i == 2 || i == 3;
      EXPECT_EQ(part("down0").equal(weights), rests) << i;
      EXPECT_FALSE(part("down1").equal(others)) << i;
      EXPECT_TRUE(part("bottleneck").equal(bottleneck)) << i;
    }
  }
}

TEST(Freezing, TheAverageOfAPartAtRestStillFollowsIt) {
  const Experiment e = tiny_experiment({"model.freeze=['down0 from 3ba']", "train.ema.smoothing=0.5", "train.precision=fp64"});
  const ModelPtr model = make_model(e.model, {3, 4}, 1);
  TrainStep step(e, model, 4, at::kCPU);
  for (int i = 0; i < 40; ++i) step.run(uneven_batch(e), {i, 100, 2});
  const at::Tensor weights = model->parameters_of("down0")[0].detach().clone();
  const auto average = step.average().use();
  EXPECT_LT(relative_difference(weights, model->parameters_of("down0")[0].detach()), 1e-9);
}

TEST(Freezing, WhatIsNotThereOrLeavesNothingIsAnError) {
  const auto train = [](const std::string& setting) { weights_after({setting}, 1); };
  EXPECT_THROW(train("model.freeze=['backbone until 5ep']"), UsageError);
  EXPECT_THROW(train("model.freeze=['down0 until']"), UsageError);
  EXPECT_THROW(train("model.freeze=['encoder0 until 5ep', 'encoder1', 'bottleneck until 5ep', 'decoder0', 'decoder1', "
                     "'classifier until 5ep']"),
               UsageError);
}

}  // namespace
}  // namespace tessera
