#include "data/datasets/layout.h"

#include <gtest/gtest.h>

#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/image_files.h"

// Each layout of the field as a miniature, opened as a user would: with data.path alone.

namespace tessera {
namespace {

using testing::message_of;
using testing::write_image;
using testing::write_mask;

class LayoutTest : public ::testing::Test {
 protected:
  LayoutTest() : config_(testing::pairs_at(folder_.path())) { config_.val_share = 0.5; }

  void image(const std::string& file) { write_image(folder_ / file); }
  void mask(const std::string& file) { write_mask(folder_ / file); }
  void pair(const std::string& image_file, const std::string& mask_file) {
    image(image_file);
    mask(mask_file);
  }
  void text(const std::string& file, std::string_view content) {
    fs::create_directories((folder_ / file).parent_path());
    write_file(folder_ / file, content);
  }

  // The names of a split's samples, each read with its labels, "a b"; where there are no labels, "a? b?".
  std::string names(Split split) {
    const DatasetPtr data = make_dataset(config_, split);
    std::string all;
    for (int64_t i = 0; i < data->size(); ++i) {
      const Sample sample = data->get(i);
      EXPECT_EQ(sample.labels.has_value(), data->origin().labelled);
      if (sample.labels) {
        EXPECT_EQ(sample.labels->at(0, 5), 1);
      }
      all += (all.empty() ? "" : " ") + sample.id + (sample.labels ? "" : "?");
    }
    return all;
  }
  std::string origin(Split split) { return make_dataset(config_, split)->origin().text; }
  std::vector<std::string> notes(Split split) { return make_dataset(config_, split)->origin().notes; }
  void expect(const std::string& train, const std::string& val, const std::string& test) {
    EXPECT_EQ(names(Split::kTrain), train);
    EXPECT_EQ(names(Split::kVal), val);
    EXPECT_EQ(names(Split::kTest), test);
  }

  testing::TempFolder folder_;
  DataConfig config_;
};

TEST_F(LayoutTest, FoldersOfSplitsWithinImagesAndMasks) {
  pair("images/training/a.png", "annotations/training/a.png");
  pair("images/validation/b.png", "annotations/val/b.png");  // each folder has its own word
  pair("images/test/c.png", "annotations/test/c.png");
  expect("a", "b", "c");
  EXPECT_EQ(origin(Split::kTrain), "images/training");
  EXPECT_EQ(origin(Split::kTest), "images/test");
}

TEST_F(LayoutTest, FoldersOfMmsegmentation) {
  pair("img_dir/train/a.png", "ann_dir/train/a.png");
  pair("img_dir/val/b.png", "ann_dir/val/b.png");
  expect("a", "b", "");
}

TEST_F(LayoutTest, TestStaysApartWhereThereIsNoVal) {
  for (const char* name : {"a", "b", "c", "d"})
    pair(fmt::format("images/train/{}.png", name), fmt::format("masks/train/{}.png", name));
  pair("images/test/t.png", "masks/test/t.png");
  const std::string both = names(Split::kTrain) + " " + names(Split::kVal);
  EXPECT_EQ(both.size(), 7U);
  EXPECT_EQ(both.find('t'), std::string::npos);
  EXPECT_EQ(names(Split::kTest), "t");
  EXPECT_EQ(origin(Split::kVal), "held out: 2 of 4 by name, data.val_share=0.5");
}

TEST_F(LayoutTest, ATestWithoutMasksIsListedWithoutLabels) {
  pair("images/train/a.png", "masks/train/a.png");
  pair("images/val/b.png", "masks/val/b.png");
  image("images/test/c.png");
  expect("a", "b", "c?");
}

TEST_F(LayoutTest, AValWithoutMasksIsLeftOutAndSaidSo) {
  for (const char* name : {"a", "b"}) pair(fmt::format("images/train/{}.png", name), fmt::format("masks/train/{}.png", name));
  image("images/val/v.png");
  EXPECT_EQ(origin(Split::kVal), "held out: 1 of 2 by name, data.val_share=0.5");
  ASSERT_EQ(notes(Split::kTrain).size(), 1U);
  EXPECT_CONTAINS(notes(Split::kTrain)[0], "images/val has no masks and is left out");
}

TEST_F(LayoutTest, MasksOfAllSplitsMayLieInOneFolder) {
  pair("images/train/a.png", "masks/a.png");
  pair("images/val/b.png", "masks/b.png");
  image("images/test/c.png");
  expect("a", "b", "c?");
  EXPECT_TRUE(notes(Split::kTrain).empty());  // b.png is no mask without an image
}

TEST_F(LayoutTest, FoldersThatNameNoSplitAreOnePool) {
  config_.val_share = 0;
  pair("images/setA/a.png", "masks/setA/a.png");
  pair("images/setB/b.png", "masks/setB/b.png");
  expect("setA/a setB/b", "", "");
  EXPECT_EQ(origin(Split::kTrain), "images, its 2 folders as one pool: setA, setB");
}

// The names decide what is held out: they stay what they were before folders were read as splits.
TEST_F(LayoutTest, ATrainFolderAloneIsAPoolWithItsName) {
  config_.val_share = 0;
  pair("images/train/a.png", "masks/train/a.png");
  expect("train/a", "", "");
  EXPECT_EQ(origin(Split::kTrain), "images");
}

TEST_F(LayoutTest, FoldersBesideTheSplitsAreLeftOutAndNamed) {
  pair("images/train/a.png", "masks/train/a.png");
  pair("images/val/b.png", "masks/val/b.png");
  pair("images/extra/c.png", "masks/extra/c.png");
  pair("images/d.png", "masks/d.png");
  expect("a", "b", "");
  ASSERT_EQ(notes(Split::kTrain).size(), 2U);
  EXPECT_CONTAINS(notes(Split::kTrain)[0], "images/extra is left out");
  EXPECT_CONTAINS(notes(Split::kTrain)[1], "the images in " + (folder_ / "images").string() + " itself are left out");
}

TEST_F(LayoutTest, WhereOnlyTestHasAFolderTrainIsTheRest) {
  config_.val_share = 0;
  pair("images/a.png", "masks/a.png");
  pair("images/day2/b.png", "masks/day2/b.png");
  pair("images/test/c.png", "masks/test/c.png");
  expect("a day2/b", "", "c");
}

TEST_F(LayoutTest, WithoutATrainFolderOnlyTrainIsAnError) {
  pair("images/val/b.png", "masks/val/b.png");
  EXPECT_EQ(names(Split::kVal), "b");
  EXPECT_CONTAINS(message_of([&] { names(Split::kTrain); }), "there are no images to train on");
}

TEST_F(LayoutTest, ATrainWithoutMasksIsAnError) {
  image("images/train/a.png");
  pair("images/val/b.png", "masks/val/b.png");
  EXPECT_CONTAINS(message_of([&] { names(Split::kTrain); }), "images/train has no masks");
}

TEST_F(LayoutTest, NamedFoldersWin) {
  config_.val_share = 0;
  pair("images/train/a.png", "masks/train/a.png");
  pair("images/test/c.png", "masks/test/c.png");
  config_.train.images = "images";
  expect("test/c train/a", "", "");
  config_.train.images.clear();
  config_.test.images = "images/train";
  config_.test.masks = "masks/train";
  EXPECT_EQ(names(Split::kTest), "a");
}

TEST_F(LayoutTest, ImagesAndMasksWithinFoldersOfSplits) {
  pair("train/images/a.png", "train/masks/a.png");
  pair("Valid/img/b.png", "Valid/labels/b.png");
  image("test/images/c.png");
  expect("a", "b", "c?");
  EXPECT_EQ(origin(Split::kTrain), "train/images");
}

TEST_F(LayoutTest, BothInOneFolderPerSplit) {
  pair("train/a.png", "train/a_mask.png");
  pair("valid/b.png", "valid/b_mask.png");
  image("test/c.png");
  expect("a", "b", "c?");
}

TEST_F(LayoutTest, CamVidInBothItsForms) {
  pair("train/a.png", "trainannot/a.png");
  pair("val/b.png", "valannot/b.png");
  pair("test/c.png", "testannot/c.png");
  expect("a", "b", "c");
  for (const char* split : {"train", "val", "test"})
    fs::rename(folder_ / (std::string(split) + "annot"), folder_ / (std::string(split) + "_labels"));
  fs::rename(folder_ / "train_labels/a.png", folder_ / "train_labels/a_L.png");
  expect("a", "b", "c");
}

TEST_F(LayoutTest, NnUNetWithOneChannel) {
  pair("imagesTr/case1_0000.png", "labelsTr/case1.png");
  pair("imagesTr/case2_0000.png", "labelsTr/case2.png");
  image("imagesTs/case3_0000.png");
  text("dataset.json", "{}");
  config_.val_share = 0;
  expect("case1 case2", "", "case3?");
  mask("labelsTs/case3.png");
  EXPECT_EQ(names(Split::kTest), "case3");
  image("imagesTr/case1_0001.png");
  const std::string message = message_of([&] { names(Split::kTrain); });
  EXPECT_CONTAINS(message, "imagesTr/case1_0001.png is another channel of its case");
  EXPECT_CONTAINS(message, "one TIFF of several pages");
}

TEST_F(LayoutTest, PascalVoc) {
  for (const char* name : {"2007_1", "2007_2", "2008_3", "2008_4"})
    pair(fmt::format("JPEGImages/{}.png", name), fmt::format("SegmentationClass/{}.png", name));
  image("JPEGImages/2009_5.png");  // of detection: no mask, in no list
  text("Annotations/2007_1.xml", "<annotation/>");
  text("ImageSets/Segmentation/train.txt", "2007_2\n2007_1\n");
  text("ImageSets/Segmentation/val.txt", "2008_3\n");
  text("ImageSets/Segmentation/trainval.txt", "2007_2\n2007_1\n2008_3\n");
  expect("2007_2 2007_1", "2008_3", "");
  EXPECT_EQ(origin(Split::kTrain), "listed in ImageSets/Segmentation/train.txt");
  text("ImageSets/Segmentation/test.txt", "2008_4\n");
  EXPECT_EQ(names(Split::kTest), "2008_4");
  fs::remove(folder_ / "ImageSets/Segmentation/train.txt");
  fs::remove(folder_ / "ImageSets/Segmentation/val.txt");
  EXPECT_CONTAINS(origin(Split::kVal), "held out: 2 of 3");  // half of trainval, rounded
}

TEST_F(LayoutTest, VocListsThatShareSamplesAreRefusedByName) {
  pair("JPEGImages/a.png", "SegmentationClass/a.png");
  text("ImageSets/Segmentation/train.txt", "a\n");
  text("ImageSets/Segmentation/val.txt", "a\n");
  EXPECT_CONTAINS(message_of([&] { names(Split::kVal); }),
                  "ImageSets/Segmentation/train.txt and ImageSets/Segmentation/val.txt share 1 of 1 validation samples: a");
}

TEST_F(LayoutTest, Cityscapes) {
  const auto frame = [&](const std::string& split, const std::string& city, const std::string& kind) {
    image("leftImg8bit/" + split + "/" + city + "/" + city + "_1_leftImg8bit.png");
    mask("gtFine/" + split + "/" + city + "/" + city + "_1_gtFine_" + kind + ".png");
    image("gtFine/" + split + "/" + city + "/" + city + "_1_gtFine_color.png");
    text("gtFine/" + split + "/" + city + "/" + city + "_1_gtFine_polygons.json", "{}");
  };
  frame("train", "aachen", "labelIds");
  frame("val", "munster", "labelIds");
  image("leftImg8bit/test/bonn/bonn_1_leftImg8bit.png");
  expect("aachen/aachen_1", "munster/munster_1", "bonn/bonn_1?");
  EXPECT_EQ(origin(Split::kTrain), "leftImg8bit/train, masks *_gtFine_labelIds");
  frame("train", "aachen", "labelTrainIds");
  frame("val", "munster", "labelTrainIds");
  expect("aachen/aachen_1", "munster/munster_1", "bonn/bonn_1?");
  EXPECT_EQ(origin(Split::kTrain), "leftImg8bit/train, masks *_gtFine_labelTrainIds");
  EXPECT_TRUE(notes(Split::kTrain).empty());
}

TEST_F(LayoutTest, OneFolderWithBoth) {
  config_.val_share = 0;
  pair("a.png", "a_mask.png");
  pair("benign/b.png", "benign/b_mask.png");
  expect("a benign/b", "", "");
}

TEST_F(LayoutTest, TwoFoldersOfOneSplitAreAnError) {
  pair("train/a.png", "trainannot/a.png");
  mask("train_labels/a.png");
  EXPECT_CONTAINS(message_of([&] { names(Split::kTrain); }),
                  "two folders for the masks of the train split: train_labels and trainannot");
}

TEST_F(LayoutTest, AFolderTooHighSaysWhichWasMeant) {
  pair("cells/images/a.png", "cells/masks/a.png");
  EXPECT_CONTAINS(message_of([&] { names(Split::kTrain); }), "did you mean data.path=" + (folder_ / "cells").string() + "?");
}

TEST_F(LayoutTest, ATestListIsTakenOutOfTheOthers) {
  for (const char* name : {"a", "b", "c", "d"}) pair(fmt::format("images/{}.png", name), fmt::format("masks/{}.png", name));
  text("test.txt", "c\n");
  text("val.txt", "d\n");
  config_.test.list = "test.txt";
  EXPECT_EQ(origin(Split::kVal), "held out: 2 of 3 by name, data.val_share=0.5");
  EXPECT_EQ((names(Split::kTrain) + names(Split::kVal)).find('c'), std::string::npos);
  EXPECT_EQ(names(Split::kTest), "c");
  config_.val.list = "val.txt";
  expect("a b", "d", "c");
  text("val.txt", "d\nc\n");
  EXPECT_CONTAINS(message_of([&] { names(Split::kTrain); }), "data.val.list and data.test.list share 1 of 1 test samples: c");
}

}  // namespace
}  // namespace tessera
