#include "infer/prediction_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/memory_limit.h"
#include "infer/predictor.h"
#include "support/tiny_experiment.h"
#include "tensor/cpu_allocator.h"

namespace tessera {
namespace {

using testing::tiny_experiment;

class PredictionMemory : public ::testing::Test {
 protected:
  void SetUp() override { install_cpu_allocator(); }
};

TEST_F(PredictionMemory, OfANetworkIsWhatItTakesOnLargerImages) {
  const Experiment e = tiny_experiment({"model.unet.channels=[16,32]"});
  const ModelPtr model = make_model(e.model, {3, 4}, 1);
  model->eval();
  const at::NoGradGuard no_grad;
  const auto pass = [&](int64_t side) { return model->forward(at::zeros({1, 3, side, side})).logits(); };
  const auto memory = NetworkMemory::measure(pass, 3, model->min_size(), 4);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->classes, 4);
  const auto real = cpu_memory_of([&] { pass(1024); });
  ASSERT_TRUE(real);
  const double found = memory->bytes_per_pixel * 1024 * 1024;
  EXPECT_NEAR(found / static_cast<double>(*real), 1.0, 0.3);  // blocks are rounded up, convolutions choose by size
}

TEST_F(PredictionMemory, IsThatOfTheLargestPassAndOfWholeViews) {
  const NetworkMemory memory{.bytes_per_pixel = 100, .channels = 3, .classes = 5};
  const auto of = [&](std::vector<std::string> keys, int64_t count) {
    return prediction_bytes(memory, tiny_experiment(keys).eval, count, 200, 100);
  };
  EXPECT_EQ(of({"eval.batch_size=4"}, 2).all(), 2 * 200 * 100 * (100 + 12));
  EXPECT_EQ(of({"eval.window.size=50", "eval.window.batch=3"}, 2).all(), 3 * 50 * 50 * (100 + 12));
  const PredictionBytes scaled = of({"eval.scales=[1,10]", "eval.window.size=50", "eval.window.batch=1"}, 1);
  EXPECT_EQ(scaled.beside, 2000.0 * 1000 * (12 + 2 * 4 * 5));
  EXPECT_EQ(scaled.scale, 10);
}

TEST_F(PredictionMemory, ScalesThatNoMemoryHoldsAreRefusedWithNumbers) {
  const Experiment e = tiny_experiment({"eval.scales=[1,10000]"});
  const Predictor predictor(e, make_model(e.model, {3, 4}, 1), at::kCPU);
  try {
    predictor.check_memory(32, 32, 3);
    FAIL() << "an image of 320000 x 320000 is expected to fit into " << memory_limit() << " bytes";
  } catch (const TooLarge& error) {
    for (const char* part : {"eval.scales", "scale 10000", "32 x 32", " GB"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  const Experiment fine = tiny_experiment({"eval.scales=[0.5,1,2]"});
  Predictor(fine, make_model(fine.model, {3, 4}, 1), at::kCPU).check_memory(32, 32, 3);
}

}  // namespace
}  // namespace tessera
