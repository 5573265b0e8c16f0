#include "train/sam.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <mutex>

#include "dist/thread_ranks.h"
#include "support/few_steps.h"

namespace tessera {
namespace {

using testing::relative_difference;
using testing::tiny_experiment;
using testing::uneven_batch;
using testing::weights_after;

// Fails once, in the middle of the pass with that number.
class FailsOnce : public SegmentationModel {
 public:
  FailsOnce(ModelPtr inner, int pass, bool memory)
      : inner_(register_module("inner", std::move(inner))), left_(pass), memory_(memory) {}
  std::vector<std::string> head_prefixes() const override { return {}; }

 protected:
  std::vector<Segment> make_segments() override {
    const auto compute = [this](const Tensors& in) {
      Tensors output = run_segments(inner_->segments(), in);
      if (left_-- == 0) {
        if (memory_) C10_THROW_ERROR(OutOfMemoryError, "made for the test");
        throw std::runtime_error("made for the test");
      }
      return output;
    };
    return {{.name = "inner", .parts = {"inner"}, .compute = compute}};
  }

 private:
  ModelPtr inner_;
  int left_;
  bool memory_;
};

const std::vector<std::string> kSam{"train.sam.rho=0.2", "train.precision=fp64", "model.unet.dropout=0.3",
                                    "optimizer.momentum=0.9"};

std::vector<std::string> with(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

TEST(Sam, TheStepOfTheIntervalGoesUphillTheOthersDoNot) {
  const std::vector<std::string> plain{"train.precision=fp64"};
  const std::vector<std::string> every_third = with(plain, {"train.sam.rho=0.2", "train.sam.interval=3"});
  EXPECT_TRUE(weights_after(plain, 2).equal(weights_after(every_third, 2)));
  EXPECT_GT(relative_difference(weights_after(plain, 3), weights_after(every_third, 3)), 1e-6);
}

// Nothing moves at rate 0: what is left is what the way uphill and back did.
TEST(Sam, WeightsComeBackToTheBitAndStatisticsCountTheStepOnce) {
  for (const char* precision : {"fp64", "fp32", "bf16"}) {
    const std::vector<std::string> still{std::string("train.precision=") + precision, "optimizer.lr=0", "train.norm_group=4"};
    at::Tensor plain_buffers, buffers;
    const at::Tensor plain = weights_after(still, 3, &plain_buffers);
    const at::Tensor sam = weights_after(with(still, {"train.sam.rho=0.5"}), 3, &buffers);
    EXPECT_TRUE(plain.equal(sam)) << precision;
    EXPECT_TRUE(plain_buffers.equal(buffers)) << precision;
  }
}

// Products read half-precision copies: they have to be those of the weights uphill, and of the weights afterwards.
TEST(Sam, HalfPrecisionCopiesGoUphillToo) {
  const auto gradient = [](const std::string& precision, const char* rho) {
    const Experiment e = tiny_experiment({"train.precision=" + precision, rho, "optimizer.lr=0"});
    TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
    const Batch batch = uneven_batch(e);
    at::Tensor first;
    for (int i = 0; i < 2; ++i) {
      step.run(batch, {i, 100, 2});
      if (i == 0) first = step.arena().grads().clone();
    }
    EXPECT_TRUE(first.equal(step.arena().grads())) << precision << ": the second step began with other copies";
    return first;
  };
  const at::Tensor exact = gradient("fp32", "train.sam.rho=1"), here = gradient("fp32", "train.sam.rho=0");
  const double uphill = relative_difference(exact, gradient("bf16", "train.sam.rho=1"));
  EXPECT_LT(uphill, 0.25 * relative_difference(exact, here)) << "rounding is far less than what the way changes";
}

TEST(Sam, MicroBatchesAndRetriesChangeNothing) {
  for (const char* loss : {"loss.terms=[ce]", "loss.terms=[ce, dice]"}) {
    const std::vector<std::string> options = with(kSam, {loss, "train.mixup.alpha=0.4"});
    at::Tensor buffers, part_buffers;
    const at::Tensor whole = weights_after(options, 5, &buffers);
    EXPECT_LT(relative_difference(whole, weights_after(with(options, {"train.micro_batch=2"}), 5, &part_buffers)), 1e-9)
        << loss;
    EXPECT_LT(relative_difference(buffers, part_buffers), 1e-9) << loss;
    // The second gradient of the first step, and so on, runs out of memory.
    const Experiment e = tiny_experiment(options);
    for (const int pass : {0, 1, 2, 3}) {
      TrainStep step(e, std::make_shared<FailsOnce>(make_model(e.model, {3, 4}, 1), pass, /*memory=*/true), 4, at::kCPU);
      for (int i = 0; i < 5; ++i) step.run(uneven_batch(e), {i, 100, 2});
      EXPECT_LT(relative_difference(whole, step.arena().params()), 1e-9) << loss << ", pass " << pass;
      EXPECT_LT(relative_difference(buffers, step.arena().buffers()), 1e-9) << loss << ", pass " << pass;
    }
  }
}

TEST(Sam, AStepThatFailsUphillLeavesTheWeights) {
  const Experiment e = tiny_experiment({"train.sam.rho=0.2"});
  TrainStep step(e, std::make_shared<FailsOnce>(make_model(e.model, {3, 4}, 1), /*pass=*/1, /*memory=*/false), 4, at::kCPU);
  const at::Tensor before = step.arena().params().clone();
  EXPECT_THROW(step.run(uneven_batch(e), {0, 100, 2}), std::runtime_error);
  EXPECT_TRUE(before.equal(step.arena().params()));
}

TEST(Sam, AFirstGradientThatIsNoNumberShowsInTheStep) {
  const Experiment e = tiny_experiment({"train.sam.rho=0.2", "train.precision=fp64"});
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
  Batch batch = uneven_batch(e);
  batch.images = batch.images.to(at::kFloat);
  batch.images[0][0][0][0] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(std::isfinite(step.run(batch, {0, 100, 2}).grad_norm.item<double>()));
}

// Composer's way: each rank has its own direction, and all of them the same weights afterwards.
TEST(Sam, PerRankEachClimbsByItsOwnGradient) {
  const auto train = [](const std::string& per_rank, int ranks) {
    const Experiment e =
        tiny_experiment(with(kSam, {"train.sam.per_rank=" + per_rank, "train.norm_group=2", "loss.terms=[ce]"}));
    std::vector<at::Tensor> weights(static_cast<size_t>(ranks));
    const auto body = [&](World& world) {
      TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU, world);
      Batch batch = uneven_batch(e);
      const at::Tensor own = at::tensor(step.slice().positions, at::kLong);
      batch.images = batch.images.index_select(0, own);
      batch.labels = batch.labels.index_select(0, own);
      std::vector<int64_t> indices, draws;
      for (const int64_t i : step.slice().positions) {
        indices.push_back(batch.indices[static_cast<size_t>(i)]);
        draws.push_back(batch.draws[static_cast<size_t>(i)]);
      }
      batch.indices = indices;
      batch.draws = draws;
      for (int i = 0; i < 4; ++i) step.run(batch, {i, 100, 2});
      weights[static_cast<size_t>(world.rank())] = step.arena().params().clone();
    };
    if (ranks == 1) {
      World alone;
      body(alone);
    } else {
      run_on_threads(ranks, false, std::chrono::seconds(120), body);
    }
    for (const at::Tensor& each : weights) EXPECT_TRUE(each.equal(weights[0]));
    return weights[0];
  };
  const at::Tensor alone = train("false", 1);
  EXPECT_LT(relative_difference(alone, train("false", 2)), 1e-9);
  EXPECT_TRUE(alone.equal(train("true", 1)));
  const double apart = relative_difference(alone, train("true", 2));
  EXPECT_GT(apart, 1e-6);
  EXPECT_LT(apart, 0.5) << "it is still a step downhill";
}

}  // namespace
}  // namespace tessera
