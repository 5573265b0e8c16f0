#include "data/batch/input_batch.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "data/batch/loader.h"
#include "data/batch/normalize.h"
#include "data/transforms/make_pipeline.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

// Three rows, of which the third is a partner only: the first blended with the second, a box of the third on the second.
Batch mixed_batch() {
  torch::manual_seed(1);
  Batch batch;
  batch.images = torch::randint(256, {3, 6, 8, 3}, torch::kUInt8);
  batch.labels = torch::randint(-1, 4, {3, 6, 8}, torch::kInt16);
  batch.indices = {7, 3, 9};
  batch.mixes = {{.partner = 1, .share = 0.75}, {.partner = 2, .top = 0, .left = 0.25, .bottom = 0.5, .right = 1}};
  return batch;
}

TEST(InputBatch, LabelsOfBoxesArePastedAndThoseOfBlendsGiven) {
  const Batch batch = mixed_batch();
  const InputBatch input(batch, at::kCPU);
  EXPECT_EQ(input.size(), 2);
  EXPECT_TRUE(input.labels()[0].equal(batch.labels[0]));
  EXPECT_TRUE(input.other_labels()[0].equal(batch.labels[1]));
  EXPECT_TRUE(input.mix_weight().equal(torch::tensor({0.75, 1.0}, torch::kDouble)));
  at::Tensor pasted = batch.labels[1].clone();
  pasted.slice(0, 0, 3).slice(1, 2, 8).copy_(batch.labels[2].slice(0, 0, 3).slice(1, 2, 8));
  EXPECT_TRUE(input.labels()[1].equal(pasted));
}

TEST(InputBatch, OnlyBlendsHaveSecondLabels) {
  Batch batch = mixed_batch();
  batch.mixes[0] = {.partner = 0};
  EXPECT_FALSE(InputBatch(batch, at::kCPU).other_labels().defined());
  batch.blends = true;  // others do: all batches of a run have the same tensors
  EXPECT_TRUE(InputBatch(batch, at::kCPU).other_labels().defined());
  EXPECT_TRUE(InputBatch(batch, at::kCPU).mix_weight().equal(torch::ones({2}, torch::kDouble)));
  batch.mixes.clear();
  const InputBatch plain(batch, at::kCPU);
  EXPECT_EQ(plain.size(), 3);
  EXPECT_TRUE(plain.labels().equal(batch.labels));
}

// Modes that look at whole images normalise before mixing; with fixed numbers both orders are the same.
TEST(InputBatch, MixesNormalisedImagesInEveryMode) {
  const Batch batch = mixed_batch();
  const InputBatch input(batch, at::kCPU);
  for (const NormalizeMode mode : {NormalizeMode::kFixed, NormalizeMode::kPerImage, NormalizeMode::kPercentile}) {
    const NormalizeConfig config{.mode = mode, .low_value = {}, .high_value = {}};
    const at::Tensor each = normalize_images(batch.images, 255, config, at::kDouble);
    const at::Tensor x = input.input(0, 2, config, at::kDouble);
    EXPECT_TRUE(x.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(torch::allclose(x[0], 0.75 * each[0] + 0.25 * each[1], 1e-12, 1e-12));
    at::Tensor pasted = each[1].clone();
    pasted.slice(1, 0, 3).slice(2, 2, 8).copy_(each[2].slice(1, 0, 3).slice(2, 2, 8));
    EXPECT_TRUE(torch::allclose(x[1], pasted, 1e-12, 1e-12));
    EXPECT_TRUE(input.input(1, 2, config, at::kFloat).equal(input.input(0, 2, config, at::kFloat).narrow(0, 1, 1)));
  }
}

// Note [One photometric distortion]: colours changed by the loader's threads or while input is made give the same bits.
TEST(InputBatch, ColoursAreTheSameInBothPlaces) {
  for (const char* transforms : {"[{random_crop: {size: 24}}, flip, photometric]", "[photometric, flip]"}) {
    const Experiment e =
        testing::tiny_experiment({std::string("data.train.transforms=") + transforms, "train.mixup.alpha=0.4"});
    const DatasetPtr data = make_dataset(e.data, Split::kTrain);
    std::vector<at::Tensor> results;
    for (const ColorPlace place : {ColorPlace::kLoader, ColorPlace::kDevice}) {
      const Pipeline pipeline = make_pipeline(e.data, Split::kTrain, place);
      Quarantine quarantine(data->size(), 0.0);
      const LoaderOptions options{.batch_size = 8, .seed = 3, .positions = {1, 2, 4}, .mix = {e.train.mixup, e.train.cutmix}};
      const Batch batch = Loader(*data, pipeline, quarantine, options, 0).next();
      EXPECT_EQ(batch.size(), 6);  // with the partners of all three
      EXPECT_EQ(batch.colors.empty(), place == ColorPlace::kLoader);
      results.push_back(InputBatch(batch, at::kCPU).input(0, 3, e.data.normalize, at::kFloat));
    }
    EXPECT_TRUE(results[0].equal(results[1])) << transforms;
  }
}

TEST(InputBatch, ColoursStayInTheLoaderWhereWholeImagesAreNormalised) {
  EXPECT_TRUE(changes_colors(at::kCPU, NormalizeConfig{}, 3));
  EXPECT_FALSE(changes_colors(at::kCPU, {.mode = NormalizeMode::kPerImage, .low_value = {}, .high_value = {}}, 3));
}

}  // namespace
}  // namespace tessera
