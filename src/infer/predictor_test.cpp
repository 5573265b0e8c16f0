#include "infer/predictor.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "support/tiny_experiment.h"

namespace tessera {
namespace {

using testing::tiny_experiment;

// Logits that depend on each pixel alone, at a quarter of the resolution if asked: windows and scales must then not matter.
class PixelModel : public SegmentationModel {
 public:
  explicit PixelModel(int64_t stride) : stride_(stride) {}
  std::vector<std::string> head_prefixes() const override { return {}; }

 protected:
  std::vector<Segment> make_segments() override {
    return {{.name = "all", .compute = [this](const Tensors& in) -> Tensors {
               const at::Tensor small = stride_ == 1 ? in[0] : at::avg_pool2d(in[0], stride_);
               return {at::cat({small.slice(1, 0, 1), -small.slice(1, 0, 1)}, 1)};
             }}};
  }

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
  const at::Tensor whole = Predictor(tiny_experiment(), model, at::kCPU).scores(images, 255).full();
  for (const char* weights : {"flat", "gaussian"}) {
    const auto e = tiny_experiment(
        {"eval.window.size=16", "eval.window.stride=7", "eval.window.batch=3", std::string("eval.window.weights=") + weights});
    EXPECT_TRUE(torch::allclose(Predictor(e, model, at::kCPU).scores(images, 255).full(), whole, 1e-5, 1e-5)) << weights;
  }
}

TEST(Predictor, MirroringAnEquivariantModelChangesNoClass) {
  const auto model = std::make_shared<PixelModel>(1);
  const at::Tensor images = noise_image(12, 20);
  const Predictor plain(tiny_experiment(), model, at::kCPU), mirrored(tiny_experiment({"eval.flip=true"}), model, at::kCPU);
  const ImageScores a = plain.scores(images, 255).of(0), b = mirrored.scores(images, 255).of(0);
  EXPECT_TRUE(plain.classes(a, {}).equal(mirrored.classes(b, {})));
  EXPECT_TRUE(torch::allclose(plain.probabilities(a, {}), b.full()[0], 1e-6, 1e-6));
}

TEST(Predictor, LowResolutionLogitsComeBackAtTheImagesSize) {
  const Predictor predictor(tiny_experiment(), std::make_shared<PixelModel>(4), at::kCPU);
  EXPECT_EQ(predictor.scores(noise_image(40, 24), 255).full().sizes(), (std::vector<int64_t>{2, 2, 40, 24}));
}

TEST(Predictor, PaddingAndScalingAreUndone) {
  const Predictor predictor(tiny_experiment(), std::make_shared<PixelModel>(1), at::kCPU);
  ImageScores scores{torch::zeros({1, 2, 8, 8}), 8, 8};
  scores.values.index_put_({0, 1, torch::indexing::Slice(2, 4), torch::indexing::Slice(1, 3)},
                           5.0F);  // content starts at (2, 1)
  const Placement placement{.original = {8, 12}, .y = 2, .x = 1, .height = 4, .width = 6};
  const at::Tensor classes = predictor.classes(scores, placement);
  ASSERT_EQ(classes.sizes(), (std::vector<int64_t>{8, 12}));
  EXPECT_EQ(classes[0][0].item<int>(), 1);
  EXPECT_EQ(classes[7][11].item<int>(), 0);
  Placement cut = placement;
  cut.complete = false;
  EXPECT_THROW(predictor.classes(scores, cut), Error);
}

// Windows in bands, at a model's low resolution or not, and whatever part of the frame the original is.
TEST(Predictor, ClassMapsAreThoseOfTheScores) {
  const at::Tensor images = noise_image(40, 56);
  const Placement padded{.original = {36, 50}, .y = 0, .x = 4, .height = 36, .width = 50};
  const Placement mirrored{.original = {40, 56}, .height = 40, .width = 56, .flipped = true};
  // Padded on the right and below, then mirrored, and the other way round.
  const Placement left{.original = {36, 50}, .x = 6, .height = 36, .width = 50, .flipped = true};
  const Placement right{.original = {36, 50}, .x = 0, .height = 36, .width = 50, .flipped = true};
  const Placement scaled{.original = {80, 112}, .height = 40, .width = 56};
  for (const int64_t stride : {1, 4}) {
    const auto model = std::make_shared<PixelModel>(stride);
    for (const char* window : {"eval.window.size=0", "eval.window.size=16", "eval.window.size=[24,72]"}) {
      const Predictor predictor(tiny_experiment({window, "eval.window.stride=8", "eval.window.batch=5"}), model, at::kCPU);
      const ImageScores scores = predictor.scores(images, 255);
      for (const Placement* placement : {static_cast<const Placement*>(nullptr), &padded, &mirrored, &left, &right, &scaled}) {
        const auto wanted = placement == nullptr ? std::nullopt : std::optional(*placement);
        const auto maps = predictor.class_maps({images, 255, {wanted, wanted}});
        for (int64_t i = 0; i < 2; ++i) {
          const at::Tensor expected = predictor.classes(scores.of(i), wanted);
          EXPECT_TRUE(maps[static_cast<size_t>(i)].equal(expected)) << window << " stride " << stride;
          const at::Tensor plain = scores.of(i).full()[0].argmax(0).to(at::kShort);
          const at::Tensor same = placement == nullptr     ? plain
                                  : placement == &mirrored ? plain.flip({1})
                                  : placement == &padded   ? plain.slice(0, 0, 36).slice(1, 4, 54)
                                  : placement == &left     ? plain.slice(0, 0, 36).slice(1, 6, 56).flip({1})
                                  : placement == &right    ? plain.slice(0, 0, 36).slice(1, 0, 50).flip({1})
                                                           : expected;
          EXPECT_TRUE(expected.equal(same)) << window << " stride " << stride;
        }
      }
    }
  }
}

at::Tensor rows_of(const Predictor& predictor, const ImageGroup& image) {
  at::Tensor map = torch::full({image.height(), image.width()}, -7, torch::kShort);
  predictor.class_rows(image, [&](int64_t y, const at::Tensor& rows) { map.narrow(0, y, rows.size(0)).copy_(rows); });
  return map;
}

TEST(Predictor, RowsOfClassesAreTheMap) {
  const at::Tensor image = noise_image(40, 56).narrow(0, 0, 1);
  const Placement whole = whole_image({40, 56});
  Placement mirrored = whole;
  mirrored.flipped = true;
  for (const int64_t stride : {1, 4}) {
    for (const char* window : {"eval.window.size=0", "eval.window.size=16", "eval.window.size=[24,72]"}) {
      const Predictor predictor(tiny_experiment({window, "eval.window.batch=5"}), std::make_shared<PixelModel>(stride),
                                at::kCPU);
      for (const Placement& placement : {whole, mirrored}) {
        const ImageGroup group{image, 255, {placement}};
        EXPECT_TRUE(rows_of(predictor, group).equal(predictor.class_maps(group)[0])) << window << " stride " << stride;
      }
    }
  }
}

// Grey words, as a file has them, and the three channels of floats that they stand for.
TEST(Predictor, AnImageAsStoredIsPredictedAsItsConversion) {
  torch::manual_seed(6);
  const at::Tensor words = torch::randint(0, 60000, {1, 40, 56, 1}, torch::kInt).to(at::kUInt16);
  const at::Tensor floats = words.to(at::kFloat).expand({-1, -1, -1, 3}).contiguous();
  for (const char* mode : {"fixed", "per_image", "percentile"}) {
    for (const char* window : {"eval.window.size=0", "eval.window.size=16"}) {
      const Predictor predictor(tiny_experiment({window, std::string("data.normalize.mode=") + mode}),
                                std::make_shared<PixelModel>(1), at::kCPU);
      const Placement whole = whole_image({40, 56});
      const at::Tensor expected = predictor.class_maps({floats, 65535, {whole}})[0];
      EXPECT_TRUE(rows_of(predictor, {words, 65535, {whole}, 3}).equal(expected)) << mode << ", " << window;
    }
  }
}

TEST(Predictor, HugeImagesAreCutAndTheirWindowsCounted) {
  const auto model = std::make_shared<PixelModel>(1);
  Predictor predictor(tiny_experiment({"data.train.transforms=[{random_crop: {size: 1024}}]"}), model, at::kCPU);
  int64_t windows = 0;
  predictor.watch_windows([&](int64_t done, int64_t all) { windows = done == all ? all : windows; });
  const auto predict = [&](int64_t height, int64_t width) {
    windows = 0;
    predictor.class_maps({torch::zeros({1, height, width, 3}, torch::kUInt8), 255, {std::nullopt}});
    return windows;
  };
  EXPECT_EQ(predict(64, 1024 * 256), 0);        // 16 crops
  EXPECT_EQ(predict(64, 1024 * 256 + 1), 384);  // one row of them; (262145 - 1024) / 682 = 382.9 steps beside the first
}

// Statistics are those of the image, not of a window.
TEST(Predictor, WindowsOfImagesThatAreNormalizedOneByOne) {
  const at::Tensor images = noise_image(40, 56);
  images.narrow(2, 0, 20).div_(4, "floor");
  const auto model = std::make_shared<PixelModel>(4);
  for (const char* mode : {"data.normalize.mode=per_image", "data.normalize.mode=percentile"}) {
    const Predictor predictor(tiny_experiment({mode, "eval.window.size=16"}), model, at::kCPU);
    const ImageScores scores = predictor.scores(images, 255);
    const auto maps = predictor.class_maps({images, 255, {std::nullopt, std::nullopt}});
    for (int64_t i = 0; i < 2; ++i) EXPECT_TRUE(maps[static_cast<size_t>(i)].equal(predictor.classes(scores.of(i), {})));
  }
}

TEST(Predictor, ValidModelPredictsEveryPixel) {
  const Experiment e = tiny_experiment({"model.unet.padding=valid", "model.unet.channels=[2,2]"});
  const ModelPtr model = make_model(e.model, {3, 2}, 1);
  const Predictor predictor(e, model, at::kCPU);
  EXPECT_EQ(predictor.scores(noise_image(33, 18), 255).full().sizes(), (std::vector<int64_t>{2, 2, 33, 18}));
}

}  // namespace
}  // namespace tessera
