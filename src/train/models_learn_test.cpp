// Every registered model, in a small form, learns eight pictures by heart.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "infer/model_state.h"
#include "infer/predictor.h"
#include "support/small_models.h"
#include "train/train_step.h"

namespace tessera {
namespace {

constexpr int kClasses = 4;

double pixel_accuracy(const Experiment& e, const ModelPtr& model, const Batch& batch) {
  const at::Tensor predicted = Predictor(e, model, at::kCPU).scores(batch.images, batch.max_value).full().argmax(1);
  model->train();
  return (predicted == batch.labels).to(at::kDouble).mean().item<double>();
}

class EveryModelLearns : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModelLearns, EightImages) {
  const Experiment e =
      testing::small_model(GetParam(), {"data.train.transforms=[]", "data.train.count=8", "data.synthetic.size=64",
                                        "optimizer.type=adamw", "optimizer.lr=0.01", "schedule.type=constant"});
  const Batch batch = testing::first_batch(e);
  const ModelPtr model = make_model(e.model, {3, kClasses}, 3);
  TrainStep step(e, model, kClasses, at::kCPU);
  constexpr int kMostSteps = 400, kLookEvery = 20;
  double accuracy = 0;
  int steps = 0;
  while (steps < kMostSteps && accuracy <= 0.95) {
    for (int i = 0; i < kLookEvery; ++i) step.run(batch, {steps++, kMostSteps, 1});
    accuracy = pixel_accuracy(e, model, batch);
  }
  EXPECT_GT(accuracy, 0.95) << "after " << steps << " steps";
  RecordProperty("steps", steps);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryModelLearns, ::testing::ValuesIn(model_names()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera
