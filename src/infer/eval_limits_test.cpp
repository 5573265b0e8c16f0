#include "infer/eval_limits.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "infer/evaluator.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

using testing::tiny_experiment;

// Classes that depend on each pixel alone, for as many pixels at a time as there is memory for.
class LittleMemory : public SegmentationModel {
 public:
  explicit LittleMemory(int64_t pixels) : room(pixels) {}
  std::vector<std::string> head_prefixes() const override { return {}; }
  int64_t room;  // pixels
  int64_t largest = 0;

 protected:
  std::vector<Segment> make_segments() override {
    return {{.name = "all", .compute = [this](const Tensors& in) -> Tensors {
               const at::Tensor& x = in[0];
               const int64_t pixels = x.size(0) * x.size(2) * x.size(3);
               TORCH_CHECK_WITH(OutOfMemoryError, pixels <= room, "not enough memory: tried to allocate much");
               largest = std::max(largest, pixels);
               return {at::cat({x.slice(1, 0, 1), -x.slice(1, 0, 1)}, 1)};
             }}};
  }
};

at::Tensor noise_images(int64_t count, int64_t h, int64_t w) {
  return at::randint(0, 256, {count, h, w, 3}, at::TensorOptions(at::kByte));
}

std::vector<at::Tensor> maps_of(const Predictor& predictor, const at::Tensor& images) {
  return predictor.class_maps({images, 255, std::vector<std::optional<Placement>>(static_cast<size_t>(images.size(0)))});
}

TEST(EvalLimits, FewerImagesAtATimeGiveTheSame) {
  const at::Tensor images = noise_images(5, 40, 30);
  const auto all = std::make_shared<LittleMemory>(1 << 30), few = std::make_shared<LittleMemory>(2 * 40 * 30);
  const Predictor plain(tiny_experiment(), all, at::kCPU), limited(tiny_experiment(), few, at::kCPU);
  const auto expected = maps_of(plain, images), found = maps_of(limited, images);
  ASSERT_EQ(found.size(), 5U);
  for (size_t i = 0; i < 5; ++i) EXPECT_TRUE(found[i].equal(expected[i])) << i;
  EXPECT_TRUE(limited.scores(images, 255).full().equal(plain.scores(images, 255).full()));
  EXPECT_EQ(all->largest, 5 * 40 * 30);
  EXPECT_EQ(few->largest, 2 * 40 * 30);
  EXPECT_EQ(limited.windows_for_memory(), "");
}

TEST(EvalLimits, AnImageThatDoesNotFitIsCutIntoWindowsAndSmallerOnesAreNot) {
  const auto model = std::make_shared<LittleMemory>(128 * 128);
  const Predictor limited(tiny_experiment(), model, at::kCPU);
  const Predictor plain(tiny_experiment(), std::make_shared<LittleMemory>(1 << 30), at::kCPU);
  const at::Tensor large = noise_images(1, 300, 200), small = noise_images(1, 120, 100);
  EXPECT_TRUE(maps_of(limited, large)[0].equal(maps_of(plain, large)[0]));
  EXPECT_EQ(limited.windows_for_memory(), "images of 300 x 200 pixels or more in windows of 96 x 64");
  model->largest = 0;
  maps_of(limited, small);
  EXPECT_EQ(model->largest, 120 * 100);
}

TEST(EvalLimits, WindowsThatWereAskedForComeFewerAtATimeFirst) {
  const auto model = std::make_shared<LittleMemory>(5 * 64 * 64);
  const Predictor limited(tiny_experiment({"eval.window.size=64", "eval.window.batch=16"}), model, at::kCPU);
  maps_of(limited, noise_images(1, 300, 200));
  EXPECT_EQ(model->largest, 4 * 64 * 64);
  EXPECT_EQ(limited.windows_for_memory(), "");
}

TEST(EvalLimits, ViewsOfAnImageComeOneByOne) {
  const auto model = std::make_shared<LittleMemory>(40 * 30);
  const Predictor limited(tiny_experiment({"eval.flip=true"}), model, at::kCPU);
  const Predictor plain(tiny_experiment({"eval.flip=true"}), std::make_shared<LittleMemory>(1 << 30), at::kCPU);
  const at::Tensor image = noise_images(1, 40, 30);
  EXPECT_TRUE(maps_of(limited, image)[0].equal(maps_of(plain, image)[0]));
  EXPECT_EQ(limited.windows_for_memory(), "");
}

TEST(EvalLimits, WhereNothingHelpsTheMessageNamesTheKeys) {
  const Predictor hopeless(tiny_experiment(), std::make_shared<LittleMemory>(10), at::kCPU);
  try {
    maps_of(hopeless, noise_images(2, 300, 200));
    FAIL() << "an image went through a network that takes 10 pixels";
  } catch (const TooLarge& e) {
    for (const char* part : {"out of memory", "300 x 200", "eval.window.size", "eval.window.batch"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(EvalLimits, AnEvaluationSaysThatItTookWindows) {
  const Experiment e = tiny_experiment({"data.synthetic.size=200", "data.val.count=2", "eval.batch_size=2"});
  const DatasetPtr data = make_dataset(e.data, Split::kVal);
  World alone;
  const auto evaluate = [&](int64_t pixels) {
    return Evaluator(e, data, alone).run(Predictor(e, std::make_shared<LittleMemory>(pixels), at::kCPU));
  };
  const EvalResult whole = evaluate(1 << 30), cut = evaluate(128 * 128);
  EXPECT_EQ(cut.confusion, whole.confusion);  // each pixel for itself
  EXPECT_EQ(whole.windows_for_memory, "");
  EXPECT_EQ(cut.windows_for_memory, "images of 200 x 200 pixels or more in windows of 128 x 128");
  EXPECT_THROW(evaluate(10), EvaluationFailed);
}

TEST(Predictor, StopsBeforeTheNextForwardPass) {
  const auto model = std::make_shared<LittleMemory>(1 << 30);
  Predictor predictor(tiny_experiment({"eval.window.size=16", "eval.window.batch=1"}), model, at::kCPU);
  int asked = 0;
  predictor.stop_when([&] { return ++asked == 3; });
  EXPECT_THROW(maps_of(predictor, noise_images(1, 100, 100)), PredictionStopped);
  EXPECT_EQ(asked, 3);
}

// Another program had the memory for a while: what it made of an evaluation is not to stay.
TEST(EvalLimits, TheNextEvaluationTriesEverythingAgain) {
  const Experiment e = tiny_experiment({"data.synthetic.size=160", "data.val.count=3", "eval.batch_size=3"});
  const auto model = std::make_shared<LittleMemory>(100 * 100);
  const Predictor predictor(e, model, at::kCPU);
  World alone;
  Evaluator evaluator(e, make_dataset(e.data, Split::kVal), alone);
  EXPECT_NE(evaluator.run(predictor).windows_for_memory, "");
  model->room = 2 * 160 * 160;
  model->largest = 0;
  EXPECT_EQ(evaluator.run(predictor).windows_for_memory, "");
  EXPECT_EQ(model->largest, 2 * 160 * 160);
}

}  // namespace
}  // namespace tessera
