// Predictions of classes that overlap: each class is there where its own probability is above eval.threshold.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "infer/predictor.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

// The logits of two classes are the first two channels, at half the resolution.
class TwoLogits : public SegmentationModel {
 public:
  std::vector<std::string> head_prefixes() const override { return {}; }

 protected:
  std::vector<Segment> make_segments() override {
    return {{.name = "all", .compute = [](const Tensors& in) -> Tensors { return {at::avg_pool2d(in[0], 2).slice(1, 0, 2)}; }}};
  }
};

Predictor predictor_of(std::vector<std::string> overrides) {
  overrides.emplace_back("data.labels.multi=true");
  return {testing::tiny_experiment(overrides), std::make_shared<TwoLogits>(), at::kCPU};
}

at::Tensor two_images() {
  torch::manual_seed(5);
  return torch::randint(0, 256, {2, 40, 56, 3}, torch::kUInt8);
}

at::Tensor sets_above(const at::Tensor& probabilities, double threshold) {  // (2, H, W)
  const at::Tensor there = probabilities.gt(threshold).to(at::kShort);
  return there[0] + 2 * there[1];
}

TEST(PredictorMultiLabel, AClassIsThereAboveTheThresholdWhateverTheWindowsAndViews) {
  const at::Tensor images = two_images();
  for (const char* window : {"eval.window.size=0", "eval.window.size=16", "eval.window.size=[24,72]"}) {
    for (const char* views : {"eval.flip=false", "eval.flip=true", "eval.scales=[1,1.5]"}) {
      for (const double threshold : {0.5, 0.8}) {
        const Predictor predictor = predictor_of({window, views, "eval.threshold=" + std::to_string(threshold)});
        const ImageScores scores = predictor.scores(images, 255);
        const auto maps = predictor.class_maps({images, 255, {std::nullopt, std::nullopt}});
        for (int64_t i = 0; i < 2; ++i) {
          const at::Tensor probabilities = predictor.probabilities(scores.of(i), {});
          EXPECT_TRUE(maps[static_cast<size_t>(i)].equal(predictor.classes(scores.of(i), {}))) << window << " " << views;
          // A logit is compared, not its probability: the two may round to different sides of the threshold.
          const at::Tensor differ = maps[static_cast<size_t>(i)].ne(sets_above(probabilities, threshold));
          EXPECT_LE(differ.sum().item<int64_t>(), 2) << window << " " << views << " " << threshold;
        }
        EXPECT_EQ(std::get<0>(at::_unique(maps[0])).size(0), 4) << "every set of two classes occurs";
      }
    }
  }
}

TEST(PredictorMultiLabel, ProbabilitiesNeedNotAddUpToOne) {
  const at::Tensor images = two_images();
  const Predictor predictor = predictor_of({});
  const ImageScores scores = predictor.scores(images, 255);
  const at::Tensor probabilities = predictor.probabilities(scores.of(0), {});
  EXPECT_TRUE(torch::allclose(probabilities, scores.of(0).full()[0].sigmoid()));
  EXPECT_GT((probabilities.sum(0) - 1).abs().max().item<double>(), 0.1);
}

TEST(PredictorMultiLabel, AtTheOriginalsSizeToo) {
  const Predictor predictor = predictor_of({});
  ImageScores scores{torch::full({1, 2, 8, 8}, -5.0F), 8, 8};
  scores.values.narrow(1, 1, 1).fill_(5);
  const Placement placement{.original = {8, 12}, .y = 2, .x = 1, .height = 4, .width = 6};
  const at::Tensor classes = predictor.classes(scores, placement);
  EXPECT_TRUE(classes.equal(torch::full({8, 12}, 2, torch::kInt16)));
}

}  // namespace
}  // namespace tessera
