#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>

#include "infer/predictor.h"
#include "infer/windows/views.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

using testing::tiny_experiment;

// Counts its forward passes. Scores depend on where in what it sees a pixel lies, so that views and windows all differ.
class CountingModel : public SegmentationModel {
 public:
  std::vector<std::string> head_prefixes() const override { return {}; }
  std::vector<int64_t> passes;  // how many images or windows each had

 protected:
  std::vector<Segment> make_segments() override {
    return {{.name = "all", .compute = [this](const Tensors& in) -> Tensors {
               passes.push_back(in[0].size(0));
               const at::Tensor small = at::avg_pool2d(in[0], 2);
               return {small * at::linspace(0.5, 2, small.size(3)) + at::linspace(-1, 1, small.size(2)).view({-1, 1})};
             }}};
  }
};

at::Tensor noise(int64_t images, int64_t height, int64_t width) {
  torch::manual_seed(6);
  return torch::randint(0, 256, {images, height, width, 3}, torch::kUInt8);
}

// The mean of the probabilities of each view on its own: mirrored images are given as images, scales one at a time.
at::Tensor view_by_view(std::vector<std::string> overrides, const std::vector<double>& scales, const at::Tensor& images) {
  at::Tensor sum;
  overrides.emplace_back("eval.flip=false");
  for (const double scale : scales) {
    std::vector<std::string> own = overrides;
    own.push_back(fmt::format("eval.scales=[{}]", scale));
    const Predictor predictor(tiny_experiment(own), std::make_shared<CountingModel>(), at::kCPU);
    for (const bool mirrored : {false, true}) {
      const at::Tensor scores = predictor.scores(mirrored ? images.flip({2}) : images, 255).full();
      const at::Tensor p = (mirrored ? scores.flip({3}) : scores).softmax(1);
      sum = sum.defined() ? sum + p : p;
    }
  }
  return sum / (2.0 * static_cast<double>(scales.size()));
}

void expect_passes(const std::vector<std::string>& overrides, const std::vector<double>& scales, const at::Tensor& images,
                   const std::vector<int64_t>& passes) {
  std::vector<std::string> all = overrides;
  all.emplace_back("eval.flip=true");
  all.push_back(fmt::format("eval.scales=[{}]", fmt::join(scales, ",")));
  const auto model = std::make_shared<CountingModel>();
  const at::Tensor scores = Predictor(tiny_experiment(all), model, at::kCPU).scores(images, 255).full();
  EXPECT_EQ(model->passes, passes);
  // Float32: views are resized and averaged in another order.
  EXPECT_TRUE(torch::allclose(scores, view_by_view(overrides, scales, images), 1e-5, 1e-5)) << all.back();
}

TEST(Views, WindowsOfAllViewsFillForwardPasses) {
  // 4 windows at scale 1, 16 at scale 2, all of it mirrored too.
  const std::vector<std::string> windows{"eval.window.size=16", "eval.window.stride=8", "eval.window.batch=8"};
  expect_passes(windows, {1, 2}, noise(1, 20, 20), {8, 8, 8, 8, 8});
  expect_passes(windows, {1}, noise(3, 20, 20), {8, 8, 8});
}

TEST(Views, MirroredImagesShareAPassUpToTheBatchSize) {
  expect_passes({"eval.batch_size=4"}, {1, 2}, noise(1, 12, 18), {2, 2});
  expect_passes({"eval.batch_size=4"}, {1}, noise(3, 12, 18), {4, 2});
  expect_passes({"eval.batch_size=2"}, {1}, noise(2, 12, 18), {2, 2});
}

// At scale 0.5 the image is smaller than a window: those two views go through whole, after the windows of the others.
TEST(Views, OfOneSizeStandSideBySide) {
  const std::vector<std::string> windows{"eval.window.size=16", "eval.window.stride=8", "eval.window.batch=8"};
  expect_passes(windows, {1, 0.5, 2}, noise(1, 20, 20), {8, 8, 8, 8, 8, 2});
  const std::vector<View> views = views_of(tiny_experiment({"eval.window.size=16", "eval.scales=[1,0.5,2]"}).eval, 20, 24);
  ASSERT_EQ(views.size(), 3);
  EXPECT_EQ(views[1].scale, 2);
  EXPECT_EQ(views[1].width, 48);
  EXPECT_EQ(views[2].height, 10);
}

}  // namespace
}  // namespace tessera
