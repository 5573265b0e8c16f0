#include "train/predictor.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "support/tiny_experiment.h"
#include "train/evaluator.h"

namespace tessera {
namespace {

using testing::tiny_experiment;

// Logits that depend on each pixel alone, at a quarter of the resolution if asked: windows and scales must then not matter.
class PixelModel : public SegmentationModel {
 public:
  explicit PixelModel(int64_t stride) : stride_(stride) {}
  ModelOutput forward(const at::Tensor& x) override {
    const at::Tensor small = stride_ == 1 ? x : at::avg_pool2d(x, stride_);
    return {at::cat({small.slice(1, 0, 1), -small.slice(1, 0, 1)}, 1), {}};
  }
  std::vector<std::string> head_prefixes() const override { return {}; }

 private:
  int64_t stride_;
};

at::Tensor noise_image(int64_t h, int64_t w) {
  torch::manual_seed(4);
  return torch::randint(0, 256, {2, h, w, 3}, torch::kUInt8);
}

TEST(Predictor, WindowsOfAPixelwiseModelGiveTheWholeImage) {
  const auto model = std::make_shared<PixelModel>(1);
  const at::Tensor images = noise_image(37, 50);
  const at::Tensor whole = Predictor(tiny_experiment(), model, at::kCPU).scores(images, 255);
  for (const char* weights : {"flat", "gaussian"}) {
    const auto e = tiny_experiment(
        {"eval.window.size=16", "eval.window.stride=7", "eval.window.batch=3", std::string("eval.window.weights=") + weights});
    EXPECT_TRUE(torch::allclose(Predictor(e, model, at::kCPU).scores(images, 255), whole, 1e-5, 1e-5)) << weights;
  }
}

TEST(Predictor, MirroringAnEquivariantModelChangesNoClass) {
  const auto model = std::make_shared<PixelModel>(1);
  const at::Tensor images = noise_image(12, 20);
  const Predictor plain(tiny_experiment(), model, at::kCPU), mirrored(tiny_experiment({"eval.flip=true"}), model, at::kCPU);
  const at::Tensor a = plain.scores(images, 255)[0], b = mirrored.scores(images, 255)[0];
  EXPECT_TRUE(plain.classes(a, nullptr).equal(mirrored.classes(b, nullptr)));
  EXPECT_TRUE(torch::allclose(plain.probabilities(a, nullptr), b, 1e-6, 1e-6));
}

TEST(Predictor, LowResolutionLogitsComeBackAtTheImagesSize) {
  const Predictor predictor(tiny_experiment(), std::make_shared<PixelModel>(4), at::kCPU);
  EXPECT_EQ(predictor.scores(noise_image(40, 24), 255).sizes(), (std::vector<int64_t>{2, 2, 40, 24}));
}

TEST(Predictor, PaddingAndScalingAreUndone) {
  const Predictor predictor(tiny_experiment(), std::make_shared<PixelModel>(1), at::kCPU);
  at::Tensor scores = torch::zeros({2, 8, 8});
  scores.index_put_({1, torch::indexing::Slice(2, 4), torch::indexing::Slice(1, 3)}, 5.0F);  // content starts at (2, 1)
  const Placement placement{.original = {8, 12}, .y = 2, .x = 1, .height = 4, .width = 6};
  const at::Tensor classes = predictor.classes(scores, &placement);
  ASSERT_EQ(classes.sizes(), (std::vector<int64_t>{8, 12}));
  EXPECT_EQ(classes[0][0].item<int>(), 1);
  EXPECT_EQ(classes[7][11].item<int>(), 0);
  Placement cut = placement;
  cut.complete = false;
  EXPECT_THROW(predictor.classes(scores, &cut), Error);
}

TEST(Predictor, ValidModelPredictsEveryPixel) {
  const Experiment e = tiny_experiment({"model.unet.padding=valid", "model.unet.channels=[2,2]"});
  const ModelPtr model = make_model(e.model, {3, 2}, 1);
  const Predictor predictor(e, model, at::kCPU);
  EXPECT_EQ(predictor.scores(noise_image(33, 18), 255).sizes(), (std::vector<int64_t>{2, 2, 33, 18}));
}

}  // namespace
}  // namespace tessera
