#include "data/check/auto_recipe.h"

#include <gtest/gtest.h>

#include <map>

#include "config/experiment.h"
#include "data/check/crop_choice.h"
#include "data/datasets/dataset_factory.h"
#include "support/fixed_dataset.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::FixedDataset;

// Cells on a dark ground: no side is up, exposure differs.
DataFingerprint cells() {
  DataFingerprint data;
  data.samples = 300;
  data.looked_at = 64;
  data.smallest = {256, 256};
  data.median = {256, 320};
  data.largest = {1024, 1024};
  data.channels = 3;
  data.depth = "8-bit";
  data.mean = data.std = {0.2, 0.2, 0.2};
  data.exposure_spread = 2.5;
  data.object_size = 18;
  data.classes = {{"background", 0.85, 1}, {"nucleus", 0.15, 1}};
  return data;
}

DataFingerprint photographs() {
  DataFingerprint data;
  data.samples = 5000;
  data.looked_at = 64;
  data.smallest = {400, 400};
  data.median = {480, 640};
  data.largest = {640, 640};
  data.channels = 3;
  data.depth = "8-bit";
  data.mean = data.std = {0.45, 0.44, 0.4};
  data.exposure_spread = 0.5;
  data.upright = 9;
  data.object_size = 220;
  data.classes = {{"background", 0.6, 1}, {"person", 0.399, 0.6}, {"kite", 0.001, 0.04}};
  return data;
}

std::map<std::string, std::string> values_of(const std::vector<CommentedValue>& choices) {
  std::map<std::string, std::string> values;
  for (const CommentedValue& choice : choices) {
    EXPECT_TRUE(values.emplace(choice.key, choice.value).second) << choice.key << " twice";
    EXPECT_GT(choice.reason.size(), 5U) << choice.key;
  }
  return values;
}

TEST(AutoRecipe, CellsAreTurnedAndPhotographsAreNot) {
  const auto of_cells = values_of(choose_recipe(cells(), {.gpu = true, .name = "a GPU"}));
  EXPECT_CONTAINS(of_cells.at("data.train.transforms"), "quarter_turns: true");
  EXPECT_CONTAINS(of_cells.at("data.train.transforms"), "random_crop: {size: 192");
  EXPECT_EQ(of_cells.at("data.normalize.mode"), "per_image");
  EXPECT_EQ(of_cells.count("data.sampler"), 0U);
  const auto of_photographs = values_of(choose_recipe(photographs(), {.gpu = true, .name = "a GPU"}));
  EXPECT_EQ(of_photographs.at("data.train.transforms").find("quarter_turns"), std::string::npos);
  EXPECT_CONTAINS(of_photographs.at("data.train.transforms"), "scale_jitter: {base: 384");  // large objects: smaller images
  EXPECT_CONTAINS(of_photographs.at("data.val.transforms"), "size: 384");
  EXPECT_EQ(of_photographs.at("data.normalize.mode"), "fixed");
  EXPECT_EQ(of_photographs.at("data.sampler"), "balanced");
  EXPECT_CONTAINS(of_photographs.at("loss.terms"), "effective_number");
}

TEST(AutoRecipe, WeightsOfImageNetAreTakenWhereTheyAreAndFit) {
  const auto fits = values_of(choose_recipe(photographs(), {.pretrained = true}));
  EXPECT_EQ(fits.at("model.name"), "unet_resnet");
  EXPECT_EQ(fits.count("data.normalize.mean"), 0U);  // ImageNet's
  EXPECT_EQ(values_of(choose_recipe(cells(), {.pretrained = true})).at("model.name"), "unet");
}

TEST(AutoRecipe, OtherDepthsFindTheirRangeAndOverlappingClassesHaveASigmoidEach) {
  DataFingerprint data = cells();
  data.depth = "16-bit";
  data.channels = 1;
  data.multi_label = true;
  data.exposure_spread = 0.4;
  const auto values = values_of(choose_recipe(data, {}));
  EXPECT_EQ(values.at("data.normalize.mode"), "auto");
  EXPECT_EQ(values.at("loss.terms"), "[bce, dice]");
  EXPECT_CONTAINS(values.at("data.train.transforms"), "photometric");  // in shares of the range that is found
}

// One mean for all channels would leave each its own scale; single channels and colours are normalised by the image.
TEST(AutoRecipe, StacksOfChannelsAreNotNormalisedByImage) {
  DataFingerprint data = cells();
  data.depth = "16-bit";
  data.channels = 1;
  const auto values = values_of(choose_recipe(data, {}));
  EXPECT_EQ(values.at("data.normalize.mode"), "per_image");
  EXPECT_CONTAINS(values.at("data.train.transforms"), "gamma");
  EXPECT_EQ(values.at("data.train.transforms").find("photometric"), std::string::npos);
  data.channels = 5;
  EXPECT_EQ(values_of(choose_recipe(data, {})).at("data.normalize.mode"), "auto");
}

// Of few images nothing is known: they are not turned.
TEST(AutoRecipe, FewImagesAreNotTurned) {
  DataFingerprint data = cells();
  data.looked_at = 20;
  EXPECT_EQ(values_of(choose_recipe(data, {})).at("data.train.transforms").find("quarter_turns"), std::string::npos);
}

TEST(AutoRecipe, CropsFitIntoTheImages) {
  DataFingerprint data = cells();
  data.median = {100, 130};
  EXPECT_CONTAINS(values_of(choose_recipe(data, {})).at("data.train.transforms"), "random_crop: {size: 128");
}

// Houses in an aerial image: where objects are small beside it they would vanish in a smaller one.
TEST(AutoRecipe, HugeImagesAreMadeSmallerOnlyAsFarAsTheirObjectsAllow) {
  DataFingerprint data = photographs();
  data.smallest = data.median = data.largest = {4000, 6000};
  data.object_size = 120;
  const auto of_small = values_of(choose_recipe(data, {.gpu = true}));
  EXPECT_CONTAINS(of_small.at("data.train.transforms"), "scale_jitter: {min");
  EXPECT_CONTAINS(of_small.at("data.train.transforms"), "random_crop: {size: 512");
  EXPECT_EQ(of_small.count("data.val.transforms"), 0U);
  EXPECT_EQ(of_small.at("eval.batch_size"), "1");
  data.object_size = 900;  // which then is 100
  EXPECT_CONTAINS(values_of(choose_recipe(data, {.gpu = true})).at("data.val.transforms"), "size: 672");
}

TEST(AutoRecipe, CropsThatShowLessThanHalfAnObjectAreDrawnAgain) {
  DataFingerprint data = cells();
  const auto share_of = [](const DataFingerprint& of) { return choose_crop(of, false).varied_share(); };
  EXPECT_NEAR(share_of(data), 1 - 18.0 * 18 / (192 * 192) / 2, 1e-12);
  data.object_size = 2;
  EXPECT_EQ(share_of(data), 0.999);
  data.object_size = 400;
  data.median = {480, 640};
  EXPECT_GE(share_of(data), 0.75);
  data.object_size = 0;  // nothing is marked in what was looked at
  EXPECT_EQ(values_of(choose_recipe(data, {})).at("data.train.transforms").find("max_class_share"), std::string::npos);
}

// A pass is never smaller than samples that share statistics, so they may not fill the memory.
TEST(AutoRecipe, BatchNormUnitsOfLargeCropsAreSmall) {
  DataFingerprint data = cells();
  EXPECT_EQ(values_of(choose_recipe(data, {.gpu = true})).at("train.norm_group"), "16");
  data.object_size = 90;
  data.median = {600, 800};
  const auto of_large = values_of(choose_recipe(data, {.gpu = true}));
  EXPECT_CONTAINS(of_large.at("data.train.transforms"), "size: 512");
  EXPECT_EQ(of_large.at("train.batch_size"), "16");
  EXPECT_EQ(of_large.at("train.norm_group"), "8");
}

TEST(AutoRecipe, LengthFollowsTheDataAndIsCutByTime) {
  EXPECT_EQ(choose_duration(cells(), 16, 0.01, 3600).value, "1500ba");
  EXPECT_EQ(choose_duration(photographs(), 16, 0.01, 3600).value, "18750ba");
  EXPECT_EQ(choose_duration(photographs(), 16, 1.0, 3600).value, "3600ba");
  EXPECT_EQ(choose_duration(photographs(), 16, 100.0, 3600).value, "200ba");
}

TEST(AutoRecipe, IsAConfigWithAReasonForEachValue) {
  std::vector<CommentedValue> choices = choose_recipe(photographs(), {.gpu = true, .name = "a GPU"});
  choices.push_back(choose_duration(photographs(), 16, 0.01, 3600));
  const std::string text = commented_config(choices);
  const Experiment e = read_experiment(parse_config(text, "auto"));
  EXPECT_EQ(e.optimizer.type, OptimizerType::kAdamW);
  EXPECT_EQ(e.train.duration.text(), "18750ba");
  EXPECT_CONTAINS(text, "# AdamW's first steps are uncertain\n  warmup: 0.05dur\n");
  EXPECT_EQ(text.find("\noptimizer:"), text.rfind("\noptimizer:"));  // one group each
}

// Two images of 20 x 10: a square of 4 x 4 on a ground that is brighter above.
FixedDataset squares() {
  std::vector<Sample> samples;
  for (int i = 0; i < 10; ++i) {
    Sample sample;
    sample.id = "s" + std::to_string(i);
    sample.image = Image(20, 10, 1);
    sample.labels = LabelMap(20, 10);
    for (int y = 0; y < 20; ++y) {
      for (int x = 0; x < 10; ++x) {
        sample.image.bytes()[static_cast<size_t>(y) * 10 + static_cast<size_t>(x)] =
            static_cast<uint8_t>(y < 10 ? 200 + i : 100);
        if (y >= 12 && y < 16 && x >= 2 && x < 6) sample.labels->at(y, x) = 1;
      }
    }
    samples.push_back(std::move(sample));
  }
  return FixedDataset(std::move(samples));
}

TEST(DataFingerprint, SaysWhatTheSamplesAre) {
  for (const int threads : {1, 3}) {
    const DataFingerprint found = fingerprint_of(squares(), 64, 1, threads);
    EXPECT_EQ(found.looked_at, 10);
    EXPECT_EQ(found.median, (Size{20, 10}));
    EXPECT_TRUE(found.one_size());
    EXPECT_EQ(found.depth, "8-bit");
    EXPECT_EQ(found.object_size, 4);
    EXPECT_TRUE(found.has_up());
    EXPECT_NEAR(found.classes.at(1).pixels, 16.0 / 200, 1e-12);
    EXPECT_NEAR(found.classes.at(1).images, 1, 1e-12);
    EXPECT_EQ(found.classes.at(2).images, 0);
    EXPECT_NEAR(found.mean.at(0), (204.5 + 100) / 2 / 255, 1e-12);
  }
}

// Masks of 0, 1, 2 whose classes nobody named: what most of nearly all images shows is no object.
TEST(DataFingerprint, KnowsTheGroundWithoutItsName) {
  class Unnamed : public FixedDataset {
   public:
    explicit Unnamed(const FixedDataset& as) : FixedDataset(as), classes_(as.classes()) {
      classes_.names = {"class_0", "class_1", "class_2"};
    }
    const ClassTable& classes() const override { return classes_; }

   private:
    ClassTable classes_;
  };
  EXPECT_EQ(fingerprint_of(Unnamed(squares()), 64, 1, 1).object_size, 4);
}

TEST(DataFingerprint, TellsCellsFromPhotographs) {
  TSR_NEED_DATA(nuclei, "dsb2018_nuclei");
  TSR_NEED_DATA(coco, "coco_tiny");
  const auto look = [](const std::string& config, const std::filesystem::path& path) {
    const Experiment e = load_experiment(config, {"data.path=" + path.string()});
    return fingerprint_of(*make_dataset(e.data, Split::kTrain), 64, 1, 2);
  };
  const DataFingerprint cells = look("builtin:base/datasets/dsb2018_nuclei", nuclei);
  const DataFingerprint pictures = look("builtin:base/datasets/coco_supercategories", coco);
  EXPECT_FALSE(cells.has_up());
  EXPECT_EQ(pictures.looked_at, 24);  // too few to say
  EXPECT_TRUE(pictures.has_up());
  EXPECT_LT(cells.object_size, 60);
  EXPECT_GT(pictures.object_size, 100);
  EXPECT_GT(cells.exposure_spread, 1);
  EXPECT_LT(pictures.exposure_spread, 1);
}

}  // namespace
}  // namespace tessera
