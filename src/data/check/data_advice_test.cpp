#include "data/check/data_advice.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/handmade_files.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::TempFolder;
using Keys = std::vector<std::string>;

// 16-bit grey, 2 x 2.
void write_deep(const fs::path& path, uint8_t high_byte) {
  const testing::Bytes rows = {0, 0, 10, high_byte, 0, 0, high_byte, 5, 0, 7};
  testing::write_bytes(path, testing::handmade_png(testing::png_header(2, 2, 16, 0), rows));
}

Experiment on(const fs::path& folder) {
  return load_experiment("", {"data.path=" + folder.string(), "data.val_share=0"});
}

TEST(DataAdvice, AFolderThatNobodyConfiguredOpensWithWhatIsAdvised) {
  const TempFolder folder;
  for (const char* name : {"a", "b", "c"}) {
    write_deep(folder / ("images/" + std::string(name) + ".png"), 15);
    testing::write_mask(folder / ("masks/" + std::string(name) + ".png"), {2, 2}, 255);
  }
  const DataAdvice advice = advise_data(on(folder.path()), false, 2);
  EXPECT_TRUE(advice.needed());
  EXPECT_EQ(advice.keys, (Keys{"data.labels.binary=true", "data.channels=1"}));
  EXPECT_EQ(facts_of(advice.images).depth, "16-bit");
  const DatasetPtr data = make_dataset(advice.config, Split::kTrain);
  EXPECT_EQ(data->get(0).labels->labels, (std::vector<int16_t>{0, 1, 0, 1}));
  EXPECT_EQ(data->get(0).image.channels, 1);
  EXPECT_EQ(advice.config.normalize.mean, default_normalize(1).mean);
  // The same keys, typed, give the same.
  std::vector<std::string> typed{"data.path=" + folder.path().string(), "data.val_share=0"};
  typed.insert(typed.end(), advice.keys.begin(), advice.keys.end());
  const DataAdvice again = advise_data(load_experiment("", typed), false, 2);
  EXPECT_FALSE(again.needed());
  EXPECT_TRUE(again.keys.empty());
}

TEST(DataAdvice, ShapesOfLabelmeNameTheClasses) {
  const TempFolder folder;
  for (const char* name : {"a", "b"}) {
    testing::write_image(folder / (std::string(name) + ".png"), {4, 6});
    const std::string label = name[0] == 'a' ? "cell" : "dirt";
    write_file(folder / (std::string(name) + ".json"),
               fmt::format(R"({{"shapes": [{{"label": "{}", "points": [[0, 0], [3, 0], [0, 3]], "shape_type": "polygon"}},
                                          {{"label": "__ignore__", "points": [[4, 3], [5, 3]], "shape_type": "rectangle"}}]}})",
                           label));
  }
  const DataAdvice advice = advise_data(on(folder.path()), false, 2);
  EXPECT_TRUE(advice.needed());
  EXPECT_EQ(advice.keys.front(), "data.classes=[background,cell,dirt]");
  EXPECT_EQ(make_dataset(advice.config, Split::kTrain)->get(1).labels->at(0, 0), 2);
  Experiment named = on(folder.path());
  named.data.classes = {"nothing", "dirt", "cell"};
  EXPECT_FALSE(advise_data(named, true, 2).needed());  // the user's own order
  named.data.classes = {};
  named.data.labels.binary = true;
  EXPECT_FALSE(advise_data(named, false, 2).needed());
}

TEST(DataAdvice, PretrainedWeightsKeepTheirThreeChannels) {
  const TempFolder folder;
  testing::write_pair(folder.path(), "a");
  Experiment experiment = on(folder.path());
  experiment.data.classes = {"background", "thing"};
  EXPECT_EQ(advise_data(experiment, false, 1).keys, Keys{"data.channels=1"});  // r = g = b everywhere
  EXPECT_FALSE(advise_data(experiment, false, 1).needed());
  experiment.model.pretrained = "weights.pth";
  EXPECT_TRUE(advise_data(experiment, false, 1).keys.empty());
}

TEST(DataAdvice, LooksAtAllMasksWhereSomeDoNotFit) {
  const TempFolder folder;
  for (int i = 0; i < 70; ++i) {
    const std::string name = "s" + std::to_string(i);
    testing::write_image(folder / ("images/" + name + ".png"));
    testing::write_mask(folder / ("masks/" + name + ".png"), {4, 6}, static_cast<int16_t>(i % 2 == 0 ? 1 : 2));
  }
  // 64 of 70 are looked at first; whichever has the rare class, it is found.
  testing::write_mask(folder / "masks/s0.png", {4, 6}, 3);
  testing::write_mask(folder / "masks/s1.png", {4, 6}, 4);
  const DataAdvice advice = advise_data(on(folder.path()), false, 2);
  EXPECT_EQ(advice.masks.masks, 70);
  EXPECT_EQ(advice.keys.at(0), "data.classes=[class_0,class_1,class_2,class_3,class_4]");
}

// Validation alone shows the third class: without it the command would train and then fail to measure.
TEST(DataAdvice, MasksOfValidationHaveASay) {
  const TempFolder folder;
  for (const char* name : {"a", "b", "v"}) testing::write_image(folder / ("images/" + std::string(name) + ".png"));
  testing::write_mask(folder / "masks/a.png", {4, 6}, 1);
  testing::write_mask(folder / "masks/b.png", {4, 6}, 2);
  testing::write_mask(folder / "masks/v.png", {4, 6}, 3);
  write_file(folder / "val.txt", std::string_view("v\n"));
  const Experiment experiment = load_experiment("", {"data.path=" + folder.path().string(), "data.val.list=val.txt"});
  EXPECT_EQ(advise_data(experiment, false, 1).keys.at(0), "data.classes=[class_0,class_1,class_2,class_3]");
}

// 1..150 are the challenge's own numbers, and its training images need not be there to look at validation.
TEST(DataAdvice, SourcesWhoseLabelsAreKnownAreTakenAsTheyAre) {
  const TempFolder folder;
  testing::write_image(folder / "images/validation/a.png");
  testing::write_mask(folder / "annotations/validation/a.png", {4, 6}, 150);
  const Experiment experiment = load_experiment("", {"data.type=ade20k", "data.path=" + folder.path().string()});
  const DataAdvice advice = advise_data(experiment, false, 1, false, Split::kVal);
  EXPECT_FALSE(advice.needed());
  EXPECT_EQ(advice.config.labels, LabelConfig{});
}

}  // namespace
}  // namespace tessera
