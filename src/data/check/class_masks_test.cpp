#include "data/datasets/class_masks.h"

#include <gtest/gtest.h>

#include "data/check/data_check.h"
#include "data/check/finding.h"
#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/image_files.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::TempFolder;
using testing::write_image;
using testing::write_mask;

const std::vector<std::string> kCellNucleus{"cell", "nucleus"};

DataConfig overlapping_at(const TempFolder& folder) {
  DataConfig config;
  config.path = folder.path();
  config.classes = kCellNucleus;
  config.labels.multi = true;
  config.val_share = 0;
  return config;
}

// A mask of one class that is on in columns `from` .. 5.
void write_class(const fs::path& path, int from, int16_t value = 255) {
  LabelMap map(4, 6);
  for (int y = 0; y < 4; ++y) {
    for (int x = from; x < 6; ++x) map.at(y, x) = value;
  }
  testing::write_bytes(path, encode_png_labels(map));
}

std::vector<int16_t> first_row(const DatasetPtr& data, int64_t index) {
  const LabelMap labels = data->get(index).labels.value();
  return {labels.labels.begin(), labels.labels.begin() + labels.width};
}

const std::vector<int16_t> kNested{0, 0, 1, 1, 3, 3};

TEST(ClassMasks, AreFoundByFolderAndByEnding) {
  const std::vector<std::pair<std::string, std::string>> forms{{"masks/cell/day/a.png", "masks/nucleus/day/a.png"},
                                                               {"masks/day/cell/a.png", "masks/day/nucleus/a_mask.png"},
                                                               {"masks/day/a_cell.png", "masks/day/a-nucleus.png"},
                                                               {"masks/day/a/cell.png", "masks/day/a/nucleus.png"}};
  for (const auto& [cell, nucleus] : forms) {
    TempFolder folder;
    write_image(folder / "images/day/a.png");
    write_class(folder / cell, 2, 1);
    write_class(folder / nucleus, 4);
    const DatasetPtr data = make_dataset(overlapping_at(folder), Split::kTrain);
    ASSERT_EQ(data->size(), 1) << cell;
    EXPECT_EQ(first_row(data, 0), kNested) << cell;
    EXPECT_TRUE(data->classes().multi_label);
    EXPECT_NE(data->classes().palette[0], (Color{0, 0, 0}));  // no class is a background
    data->check_labels();                                     // 0 and 255 is what they should be
  }
}

TEST(ClassMasks, OneFolderCanHoldImagesAndMasks) {
  TempFolder folder;
  for (const char* stem : {"a", "b"}) {
    write_image(folder / (std::string("all/") + stem + ".png"));
    write_class(folder / (std::string("all/") + stem + "_cell.png"), 2);
    write_class(folder / (std::string("all/") + stem + "_nucleus.png"), 4);
  }
  DataConfig config = overlapping_at(folder);
  config.train.images = config.train.masks = "all";
  const DatasetPtr data = make_dataset(config, Split::kTrain);
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(first_row(data, 1), kNested);
}

TEST(ClassMasks, OneFileCanHoldAChannelForEach) {
  TempFolder folder;
  write_image(folder / "images/a.png");
  Image mask(4, 6, 3);
  for (int x = 0; x < 6; ++x) {
    mask.bytes()[static_cast<size_t>(x) * 3] = x >= 2 ? 255 : 0;
    mask.bytes()[static_cast<size_t>(x) * 3 + 1] = x >= 4 ? 255 : 0;
  }
  testing::write_bytes(folder / "masks/a.png", encode_png(mask));
  EXPECT_EQ(first_row(make_dataset(overlapping_at(folder), Split::kTrain), 0), kNested);
}

TEST(ClassMasks, IgnoredPixelsHaveAMaskOfTheirOwn) {
  for (const char* name : {"ignore", "void"}) {
    TempFolder folder;
    write_image(folder / "images/a.png");
    write_class(folder / "masks/cell/a.png", 2);
    write_class(folder / "masks/nucleus/a.png", 4);
    write_class(folder / (std::string("masks/") + name + "/a.png"), 5);
    EXPECT_EQ(first_row(make_dataset(overlapping_at(folder), Split::kTrain), 0), (std::vector<int16_t>{0, 0, 1, 1, 3, -1}));
  }
}

TEST(ClassMasks, AMissingFileIsABadSampleUnlessItMeansNotThere) {
  TempFolder folder;
  for (const char* stem : {"a", "b", "c"}) write_image(folder / (std::string("images/") + stem + ".png"));
  write_class(folder / "masks/cell/a.png", 2);
  write_class(folder / "masks/nucleus/a.png", 4);
  write_class(folder / "masks/cell/b.png", 2);
  DataConfig config = overlapping_at(folder);
  const DatasetPtr strict = make_dataset(config, Split::kTrain);
  EXPECT_CONTAINS(message_of<BadSample>([&] { strict->get(1); }), "b: no mask of 'nucleus' for the image");
  EXPECT_CONTAINS(message_of<BadSample>([&] { strict->get(1); }), "data.labels.missing=empty");
  EXPECT_CONTAINS(message_of<BadSample>([&] { strict->get(2); }), "c: no mask for the image");
  config.labels.missing = MissingMask::kEmpty;
  const DatasetPtr lenient = make_dataset(config, Split::kTrain);
  EXPECT_EQ(first_row(lenient, 1), (std::vector<int16_t>{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(first_row(lenient, 2), (std::vector<int16_t>(6, 0)));
}

TEST(ClassMasks, AmbiguousAndForeignMasksAreRefused) {
  TempFolder folder;
  write_image(folder / "images/a.png");
  write_class(folder / "masks/zelle/a.png", 2);
  const DataConfig config = overlapping_at(folder);
  EXPECT_CONTAINS(message_of([&] { make_dataset(config, Split::kTrain); }),
                  "the masks of 'cell' for an image 'a' are cell/a.png");
  write_class(folder / "masks/cell/a.png", 2);
  write_class(folder / "masks/a_cell.png", 2);
  EXPECT_CONTAINS(message_of([&] { make_dataset(config, Split::kTrain); }), "image 'a' has two masks of 'cell'");
  fs::remove(folder / "masks/a_cell.png");
  write_class(folder / "masks/a.png", 2);
  EXPECT_CONTAINS(message_of([&] { make_dataset(config, Split::kTrain); }), "has a mask for all classes");
  DataConfig unnamed = config;
  unnamed.classes.clear();
  EXPECT_CONTAINS(message_of([&] { make_dataset(unnamed, Split::kTrain); }), "[cell, nucleus]");
}

TEST(ClassMasks, AMaskOfAnotherSizeIsABadSample) {
  TempFolder folder;
  write_image(folder / "images/a.png");
  write_class(folder / "masks/cell/a.png", 2);
  write_mask(folder / "masks/nucleus/a.png", {4, 5});
  const DatasetPtr data = make_dataset(overlapping_at(folder), Split::kTrain);
  EXPECT_CONTAINS(message_of<BadSample>([&] { data->get(0); }), "nucleus/a.png is 4 x 5, image");
}

TEST(ClassMasks, CheckCountsEachClassForItself) {
  TempFolder folder;
  for (const char* stem : {"a", "b"}) {
    write_image(folder / (std::string("images/") + stem + ".png"), {4, 6}, static_cast<uint8_t>(stem[0]));
    write_class(folder / (std::string("masks/cell/") + stem + ".png"), stem[0] == 'a' ? 2 : 6);
    write_class(folder / (std::string("masks/nucleus/") + stem + ".png"), stem[0] == 'a' ? 4 : 6);
  }
  const DataConfig config = overlapping_at(folder);
  std::vector<Survey> surveys;
  surveys.push_back(survey_split(Split::kTrain, make_dataset(config, Split::kTrain), 1, {}));
  const DataReport report = report_of(surveys[0]);
  EXPECT_EQ(report.pixels_per_class, (std::vector<int64_t>{16, 8}));
  EXPECT_EQ(report.images_per_class, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(report.labelled_pixels, 48);
  EXPECT_EQ(report.ignored_pixels, 0);
  // Flat images: what is wrong with the second's mask is told all the same.
  const std::vector<Finding> findings = find_faults({surveys, config});
  const auto empty = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& finding) { return finding.kind == FindingKind::kBackgroundOnly; });
  ASSERT_NE(empty, findings.end());
  ASSERT_EQ(empty->samples.size(), 1U);
  EXPECT_EQ(empty->samples[0].id, "b");
}

}  // namespace
}  // namespace tessera
