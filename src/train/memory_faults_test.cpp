// Memory that runs out at every request of a step, of an evaluation, of a checkpoint and of a run's beginning, one after
// another, on one rank, on the other, on both: nothing ends, nothing hangs, and what is learned is that of a run with enough of
// it.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "data/datasets/dataset_factory.h"
#include "dist/thread_ranks.h"
#include "infer/evaluator.h"
#include "infer/rank_consensus.h"
#include "support/few_steps.h"
#include "support/fixtures.h"
#include "tensor/cpu_allocator.h"
#include "train/run.h"

namespace tessera {
namespace {

using testing::relative_difference;

class MemoryFaults : public ::testing::Test {
 protected:
  void SetUp() override { install_cpu_allocator(); }
};

struct Requests {
  int64_t first, stride;
};

// Every n-th request only. The whole sweep takes minutes to hours: TESSERA_ALL_FAULTS=1; a part of it, here the third of eight:
// TESSERA_ALL_FAULTS=3/8.
Requests requests_to_fail(int64_t few) {
  const char* const all = std::getenv("TESSERA_ALL_FAULTS");
  if (all == nullptr) return {0, few};
  int64_t part = 1, parts = 1;
  if (std::sscanf(all, "%" SCNd64 "/%" SCNd64, &part, &parts) != 2) return {0, 1};
  return {part - 1, parts};
}

struct Fault {
  bool first = false, second = false;  // on which rank
  int64_t request = -1;
  bool hits(int rank) const { return rank == 0 ? first : second; }
};

struct Outcome {
  at::Tensor state;      // weights, statistics, optimizer and average of the first rank, one behind another
  int64_t requests = 0;  // of the second step, on the first rank
  double loss = 0;
};

// Three steps of which the second meets the fault.
Outcome three_steps(const Experiment& e, int ranks, bool sharded, const Fault& fault) {
  Outcome outcome;
  std::mutex mutex;
  const auto body = [&](World& world) {
    const DatasetPtr data = make_dataset(e.data, Split::kTrain);
    const Pipeline pipeline = make_pipeline(e.data, Split::kTrain);
    Quarantine quarantine(data->size(), 0.0);
    TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU, world, {.sharded = sharded});
    Loader loader(*data, pipeline, quarantine,
                  {.batch_size = e.train.batch_size, .seed = 1, .positions = step.slice().positions}, 0);
    double loss = 0;
    int64_t requests = 0;
    for (int64_t i = 0; i < 3; ++i) {
      const Batch batch = loader.next();
      fail_cpu_request(i == 1 && fault.hits(world.rank()) ? fault.request : -1);
      const StepResult result = step.run(batch, {i, 3, 2});
      const int64_t made = fail_cpu_request(-1);
      if (i == 1) requests = made;
      loss = result.loss.item<double>();
    }
    std::vector<at::Tensor> all{step.arena().params().flatten(), step.arena().buffers().flatten()};
    for (const auto& entry : step.optimizer().state()) all.push_back(entry.second.flatten());
    for (const auto& entry : step.average().state()) all.push_back(entry.second.flatten());
    const std::lock_guard lock(mutex);
    if (world.is_first()) outcome = {at::cat(all).clone(), requests, loss};
  };
  if (ranks == 1) {
    World alone;
    body(alone);
  } else {
    run_on_threads(ranks, false, std::chrono::seconds(60), body);
  }
  return outcome;
}

Experiment tiny(const std::vector<std::string>& more) {
  std::vector<std::string> overrides{"train.precision=fp64",
                                     "optimizer.type=adamw",
                                     "optimizer.clip_norm=0.5",
                                     "train.ema.half_life=2ba",
                                     "model.unet.channels=[2,4]",
                                     "data.synthetic.size=16",
                                     "data.train.transforms=[{random_crop: {size: 12}}]",
                                     "model.unet.dropout=0.2"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return testing::tiny_experiment(overrides);
}

// Calls hit(fault) for every `few`-th request of so many, on one rank or, of two, on either and on both.
void at_every_request(int ranks, int64_t requests, int64_t few, const std::function<void(const Fault&)>& hit) {
  const std::vector<Fault> places =
      ranks == 1 ? std::vector<Fault>{{true, false}} : std::vector<Fault>{{true, false}, {false, true}, {true, true}};
  for (Fault fault : places) {
    const auto [first, stride] = requests_to_fail(few);
    for (fault.request = first; fault.request < requests; fault.request += stride) {
      SCOPED_TRACE(fmt::format("request {} of {}, ranks {}{}", fault.request, requests, fault.first ? "0" : "",
                               fault.second ? "1" : ""));
      ASSERT_NO_THROW(hit(fault));
    }
  }
}

void expect_same(const Outcome& whole, const Outcome& hit) {
  ASSERT_EQ(hit.state.sizes(), whole.state.sizes());
  EXPECT_LT(relative_difference(whole.state, hit.state), 1e-9);
  EXPECT_NEAR(whole.loss, hit.loss, 1e-9);
}

void expect_same_for_all(const std::vector<std::string>& options, int ranks, bool sharded, int64_t few) {
  const Experiment e = tiny(options);
  const Outcome whole = three_steps(e, ranks, sharded, {});
  ASSERT_GT(whole.requests, 100);
  at_every_request(ranks, whole.requests, few,
                   [&](const Fault& fault) { expect_same(whole, three_steps(e, ranks, sharded, fault)); });
}

TEST_F(MemoryFaults, AStepAlone) {
  expect_same_for_all({}, 1, false, 7);
}

TEST_F(MemoryFaults, AStepThatCannotBeMadeSmaller) {
  expect_same_for_all({"train.norm_group=8", "loss.terms=[ce, dice]"}, 1, false, 11);
}

TEST_F(MemoryFaults, AStepOfTwoRanksWithUnitsOfTheirOwn) {
  expect_same_for_all({"loss.terms=[ce, dice]"}, 2, true, 29);
}

// The sums over predictions follow a forward pass of all samples, which makes a third of a step's requests. Where they found no
// memory, the output of all samples was once left behind for the smaller passes; two of the requests showed it.
TEST_F(MemoryFaults, SumsOverPredictionsThatFailHalfWayLeaveNoOutputBehind) {
  const Experiment e = tiny({"loss.terms=[ce, dice]"});
  const Outcome whole = three_steps(e, 2, true, {});
  Fault fault{.first = true};
  for (fault.request = whole.requests * 3 / 10; fault.request < whole.requests * 45 / 100; ++fault.request) {
    SCOPED_TRACE(fault.request);
    ASSERT_NO_THROW(expect_same(whole, three_steps(e, 2, true, fault)));
  }
}

TEST_F(MemoryFaults, AStepOfTwoRanksWithSpreadUnits) {
  expect_same_for_all({"train.norm_group=8"}, 2, false, 29);
}

TEST_F(MemoryFaults, AStepOfTwoRanksWhoseGradientsAreWeighed) {
  expect_same_for_all({"dist.reduction=adasum"}, 2, false, 23);
}

TEST_F(MemoryFaults, AStepOfTwoRanksWhoseGradientsAreCompressed) {
  expect_same_for_all({"dist.compression=bf16", "dist.predivide=2"}, 2, false, 29);
}

// In either of its two gradients, and on the way uphill and back.
TEST_F(MemoryFaults, AStepOfSam) {
  expect_same_for_all({"train.sam.rho=0.2", "loss.terms=[ce, dice]"}, 1, false, 13);
}

TEST_F(MemoryFaults, AStepOfSamOnTwoRanksWithSpreadUnits) {
  expect_same_for_all({"train.sam.rho=0.2", "train.norm_group=8"}, 2, false, 61);
}

// The rank that ran out never fits: all go on with activation checkpointing.
TEST_F(MemoryFaults, TheLadderEndsWithCheckpointing) {
  const Experiment e = tiny({"train.norm_group=8"});
  const ModelPtr model = make_model(e.model, {3, 4}, 1);
  const auto checkpoints = [&] {
    bool any = false;
    for (const Segment& segment : model->segments()) any = any || segment.checkpoint;
    return any;
  };
  TrainStep step(e, model, 4, at::kCPU);
  const Batch batch = testing::first_batch(e);
  EXPECT_FALSE(checkpoints());
  fail_cpu_request(60);
  step.run(batch, {0, 3, 2});
  fail_cpu_request(-1);
  EXPECT_FALSE(checkpoints());  // what was kept for later was enough
  EXPECT_TRUE(model->checkpoint_all());
  EXPECT_FALSE(model->checkpoint_all());
  step.run(batch, {1, 3, 2});
  EXPECT_TRUE(step.arena().params().isfinite().all().item<bool>());
}

TEST_F(MemoryFaults, AnEvaluation) {
  const Experiment e = tiny({"train.precision=fp32"});
  World alone;
  const DatasetPtr data = make_dataset(e.data, Split::kVal);
  const ModelPtr model = make_model(e.model, {3, 4}, 1);
  const Predictor predictor(e, model, at::kCPU);
  Evaluator evaluator(e, data, alone);
  fail_cpu_request(-1);
  const EvalResult whole = evaluator.run(predictor);
  const int64_t requests = fail_cpu_request(-1);
  ASSERT_GT(requests, 20);
  const auto [first, stride] = requests_to_fail(3);
  for (int64_t request = first; request < requests; request += stride) {
    SCOPED_TRACE(request);
    const Predictor again(e, model, at::kCPU);
    fail_cpu_request(request);
    EvalResult hit;
    ASSERT_NO_THROW(hit = evaluator.run(again));
    fail_cpu_request(-1);
    EXPECT_EQ(hit.confusion, whole.confusion);
    EXPECT_EQ(hit.num_images, whole.num_images);
  }
}

// Two ranks share the windows of the only block of images.
void expect_same_evaluation_on_two_ranks(const std::vector<std::string>& options, int64_t few) {
  std::vector<std::string> overrides{"train.precision=fp32", "eval.window.size=8", "eval.window.batch=4", "eval.batch_size=6"};
  overrides.insert(overrides.end(), options.begin(), options.end());
  const Experiment e = tiny(overrides);
  const DatasetPtr data = make_dataset(e.data, Split::kVal);
  const ModelPtr model = make_model(e.model, {3, 4}, 1);
  std::mutex mutex;
  int64_t requests = 0;
  const auto evaluated = [&](const Fault& fault) {
    EvalResult all;
    run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
      const Predictor predictor(e, model, at::kCPU);
      EXPECT_TRUE(predictor.splits_over(2, 16, 16));
      Evaluator evaluator(e, data, world);
      fail_cpu_request(fault.hits(world.rank()) ? fault.request : -1);
      const EvalResult result = merged(world, evaluator.run(predictor), 4);
      const int64_t made = fail_cpu_request(-1);
      const std::lock_guard lock(mutex);
      requests = std::max(requests, made);
      if (world.is_first()) all = result;
    });
    return all;
  };
  const EvalResult whole = evaluated({});
  ASSERT_EQ(whole.num_images, data->size());
  ASSERT_GT(requests, 20);
  at_every_request(2, std::exchange(requests, 0), few, [&](const Fault& fault) {
    const EvalResult hit = evaluated(fault);
    EXPECT_EQ(hit.confusion, whole.confusion);
    EXPECT_EQ(hit.num_images, whole.num_images);
  });
}

TEST_F(MemoryFaults, AnEvaluationOfTwoRanksThatShareImages) {
  expect_same_evaluation_on_two_ranks({}, 53);
}

TEST_F(MemoryFaults, AnEvaluationOfTwoRanksThatShareViews) {
  expect_same_evaluation_on_two_ranks({"eval.flip=true", "eval.scales=[0.5,1,1.5]"}, 1201);
}

// A run that begins: data, model, optimizer, average, what the ranks tell one another, up to the first step.
void expect_same_after_start(int ranks, int64_t few) {
  class UpToStart : public Hook {
   public:
    explicit UpToStart(int64_t& requests) : requests_(requests) {}
    void on_start(const RunInfo&) override { requests_ = fail_cpu_request(-1); }

   private:
    int64_t& requests_;
  };
  const testing::TempFolder folder;
  const auto run = [&](const std::string& name, const Fault& fault, int64_t& requests) {
    const fs::path place = folder.path() / name;
    const Experiment e = tiny(
        {"train.duration=1ba", "eval.every=0ep", "run.tensorboard=false", "train.device=cpu", "run.dir=" + place.string()});
    const auto body = [&](World& world) {
      int64_t own = 0;
      Hooks hooks;
      hooks.add(std::make_unique<UpToStart>(own));
      fail_cpu_request(fault.hits(world.rank()) ? fault.request : -1);
      run_training(e, {.sharded = ranks > 1, .report = false}, world, hooks);
      if (world.is_first()) requests = own;
    };
    if (ranks == 1) {
      World alone;
      body(alone);
    } else {
      run_on_threads(ranks, false, std::chrono::seconds(60), body);
    }
    return read_checkpoint(place / "checkpoints" / checkpoint_name(1));
  };
  int64_t requests = 0, number = 0;
  const Checkpoint whole = run("whole", {}, requests);
  ASSERT_GT(requests, 20);
  at_every_request(ranks, requests, few, [&](const Fault& fault) {
    int64_t ignored = 0;
    const Checkpoint hit = run(std::to_string(number++), fault, ignored);
    for (size_t i = 0; i < whole.model.size(); ++i) EXPECT_TRUE(hit.model[i].second.equal(whole.model[i].second));
    for (size_t i = 0; i < whole.optimizer.size(); ++i) EXPECT_TRUE(hit.optimizer[i].second.equal(whole.optimizer[i].second));
  });
}

TEST_F(MemoryFaults, TheBeginningOfARun) {
  expect_same_after_start(1, 29);
}

TEST_F(MemoryFaults, TheBeginningOfARunOnTwoRanks) {
  expect_same_after_start(2, 97);
}

// A run of two steps that is saved after the first one, by hooks that count from there.
TEST_F(MemoryFaults, ACheckpoint) {
  class FromStep : public Hook {
   public:
    explicit FromStep(int64_t request) : request_(request) {}
    void on_log(const LogLine& line) override {
      if (line.step == 1) fail_cpu_request(request_);
    }
    void on_checkpoint(const TrainState& state) override {
      if (state.step == 1) requests = fail_cpu_request(-1);
    }
    int64_t requests = 0;

   private:
    int64_t request_;
  };
  testing::TempFolder folder;
  const auto run = [&](const std::string& name, int64_t request, int64_t* requests) {
    const fs::path place = folder.path() / name;
    const Experiment e = tiny({"train.duration=2ba", "checkpoint.every=1ba", "eval.every=0ep", "run.tensorboard=false",
                               "train.device=cpu", "run.dir=" + place.string()});
    World alone;
    Hooks hooks;
    FromStep& counter = hooks.add(std::make_unique<FromStep>(request));
    run_training(e, {.report = false}, alone, hooks);
    if (requests != nullptr) *requests = counter.requests;
    return read_checkpoint(place / "checkpoints" / checkpoint_name(1));
  };
  int64_t requests = 0;
  const Checkpoint whole = run("whole", -1, &requests);
  ASSERT_GT(requests, 0);
  const auto [first, stride] = requests_to_fail(5);
  for (int64_t request = first; request < requests; request += stride) {
    SCOPED_TRACE(request);
    Checkpoint hit;
    ASSERT_NO_THROW(hit = run("hit" + std::to_string(request), request, nullptr));
    for (size_t i = 0; i < whole.model.size(); ++i) EXPECT_TRUE(hit.model[i].second.equal(whole.model[i].second));
    for (size_t i = 0; i < whole.optimizer.size(); ++i) EXPECT_TRUE(hit.optimizer[i].second.equal(whole.optimizer[i].second));
  }
}

}  // namespace
}  // namespace tessera
