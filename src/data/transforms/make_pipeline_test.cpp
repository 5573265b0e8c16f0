#include "data/transforms/make_pipeline.h"

#include <gtest/gtest.h>

#include "support/samples.h"

namespace tessera {
namespace {

std::vector<TransformConfig> everything() {
  return {ScaleJitterConfig{},
          RotateConfig{},
          RandomCropConfig{{24, 24}, 0.75, 10},
          FlipConfig{},
          BlurConfig{},
          PhotometricConfig{},
          GammaConfig{},
          NoiseConfig{},
          ElasticConfig{},
          GridDistortionConfig{},
          CutoutConfig{},
          GrayscaleConfig{},
          PadConfig{{30, 30}, true},
          ResizeConfig{ResizeMode::kExact, {16, 16}}};
}

Sample run(const Pipeline& pipeline, uint64_t seed, uint64_t epoch, uint64_t index, int channels = 3, bool floats = false) {
  Sample sample = testing::numbered_sample({40, 50}, channels, floats);
  run_pipeline(pipeline, sample, seed, epoch, index);
  return sample;
}

TEST(Pipeline, ResultIsAFunctionOfSeedEpochAndIndexWhateverTheOrderOfCalls) {
  const Pipeline pipeline = make_pipeline(everything()), other = make_pipeline(everything());
  std::vector<Sample> forwards;
  for (uint64_t i = 0; i < 6; ++i) forwards.push_back(run(pipeline, 1, 2, i));
  for (uint64_t i = 6; i-- > 0;) {
    const Sample again = run(other, 1, 2, i);
    EXPECT_EQ(again.image.bytes(), forwards[i].image.bytes());
    EXPECT_EQ(again.labels->labels, forwards[i].labels->labels);
  }
  EXPECT_NE(run(pipeline, 1, 3, 0).image.bytes(), forwards[0].image.bytes());
  EXPECT_NE(run(pipeline, 2, 2, 0).image.bytes(), forwards[0].image.bytes());
}

TEST(Pipeline, WorksForAnyChannelsAndDepth) {
  const Pipeline pipeline = make_pipeline(everything());
  for (int channels : {1, 2, 3, 5}) {
    for (bool floats : {false, true}) {
      const Sample sample = run(pipeline, 1, 1, 1, channels, floats);
      EXPECT_EQ(sample.image.size(), (Size{16, 16}));
      EXPECT_EQ(sample.image.channels, channels);
      EXPECT_EQ(sample.image.is_bytes(), !floats);
      EXPECT_EQ(sample.labels->size(), (Size{16, 16}));
    }
  }
}

TEST(Pipeline, SetsAMissingPlacement) {
  Sample sample = testing::numbered_sample({10, 20});
  sample.placement = {};
  run_pipeline(make_pipeline({ResizeConfig{ResizeMode::kPad, {20, 20}}}), sample, 0, 0, 0);
  EXPECT_EQ(sample.placement.original, (Size{10, 20}));
  EXPECT_EQ(sample.placement.y, 5);
}

TEST(Pipeline, EveryTransformThatPadsFillsWithTheMean) {
  DataConfig config;
  const std::vector<TransformConfig> padding{PadConfig{{60, 60}, false}, RandomCropConfig{{60, 60}, 1.0, 0},
                                             ResizeConfig{ResizeMode::kPad, {60, 50}},
                                             ResizeConfig{ResizeMode::kCropOrPad, {60, 60}}, RotateConfig{180, 1.0, false}};
  for (const TransformConfig& transform : padding) {
    SCOPED_TRACE(transform.index());
    config.val.transforms = {transform};
    config.normalize.mode = NormalizeMode::kFixed;
    const auto corner = [&] {
      const Sample sample = run(make_pipeline(config, Split::kVal), 1, 1, 1);
      const int y = sample.image.height - 1, x = sample.image.width - 1;
      EXPECT_EQ(sample.labels->at(y, x), kIgnoreLabel);
      return std::vector{testing::pixel(sample.image, y, x, 0), testing::pixel(sample.image, y, x, 1),
                         testing::pixel(sample.image, y, x, 2)};
    };
    EXPECT_EQ(corner(), (std::vector<double>{124, 116, 104}));
    for (NormalizeMode mode : {NormalizeMode::kPerImage, NormalizeMode::kPercentile}) {
      config.normalize.mode = mode;
      EXPECT_EQ(corner(), (std::vector<double>{0, 0, 0}));
    }
  }
}

TEST(Pipeline, TakesTheTransformsOfTheSplit) {
  DataConfig config;
  config.train.transforms = {PadConfig{{60, 70}, false}};
  EXPECT_EQ(run(make_pipeline(config, Split::kTrain), 1, 1, 1).image.size(), (Size{60, 70}));
  EXPECT_EQ(run(make_pipeline(config, Split::kVal), 1, 1, 1).image.size(), (Size{40, 50}));
}

TEST(Pipeline, TestIsTreatedAsValUnlessToldOtherwise) {
  DataConfig config;
  config.val.transforms = {PadConfig{{60, 70}, false}};
  EXPECT_EQ(run(make_pipeline(config, Split::kTest), 1, 1, 1).image.size(), (Size{60, 70}));
  config.test.transforms = {PadConfig{{80, 90}, false}};
  EXPECT_EQ(run(make_pipeline(config, Split::kTest), 1, 1, 1).image.size(), (Size{80, 90}));
}

TEST(Pipeline, TheEmptyOneDoesNothing) {
  EXPECT_EQ(run({}, 1, 1, 1).image.bytes(), testing::numbered_sample({40, 50}).image.bytes());
}

// Only colours after which pixels at most move may wait: padding, for one, must not be coloured.
TEST(Pipeline, ColoursForTheDeviceAreDrawnButNotDone) {
  const auto left = [](const std::vector<TransformConfig>& configs) {
    return run(make_pipeline(configs, {}, ColorPlace::kDevice), 1, 2, 3);
  };
  const Sample sample = left({PhotometricConfig{.probability = 1}, FlipConfig{1, 0}});
  ASSERT_TRUE(sample.color.has_value());
  EXPECT_EQ(sample.image.bytes(), run(make_pipeline({FlipConfig{1, 0}}), 1, 2, 3).image.bytes());
  Image done = sample.image;
  change_colors(done, *sample.color);
  EXPECT_EQ(done.bytes(), run(make_pipeline({PhotometricConfig{.probability = 1}, FlipConfig{1, 0}}), 1, 2, 3).image.bytes());
  EXPECT_FALSE(left({PhotometricConfig{}, PadConfig{{60, 60}, true}}).color.has_value());
  EXPECT_FALSE(left({FlipConfig{}}).color.has_value());
  EXPECT_TRUE(left({PhotometricConfig{}, BlurConfig{}, PhotometricConfig{}}).color.has_value());
}

}  // namespace
}  // namespace tessera
