#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "data/check/data_check.h"
#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/handmade_files.h"
#include "support/image_files.h"

// What the sources say about folders and files as they are found in the wild: each case names the file and the way out, and
// one bad file never stops the others from being read.

namespace tessera {
namespace {

using testing::message_of;
using testing::TempFolder;
using testing::write_image;
using testing::write_mask;
using testing::write_pair;

class BrokenFiles : public ::testing::Test {
 protected:
  BrokenFiles() {
    config_.path = folder_.path();
    config_.classes = {"background", "thing"};
    config_.val_share = 0;
    write_pair(folder_.path(), "good");
  }
  std::string open_error() {
    return message_of([&] { make_dataset(config_, Split::kTrain); });
  }
  // What reading the sample `id` says; the sample "good" must be readable all the same.
  std::string fault_of(const std::string& id) {
    const DatasetPtr data = make_dataset(config_, Split::kTrain);
    std::string fault;
    bool good = false;
    for (int64_t i = 0; i < data->size(); ++i) {
      try {
        data->get(i);
        good = good || data->id(i) == "good";
      } catch (const BadSample& bad) {
        if (bad.id() == id) fault = bad.what();
      }
    }
    EXPECT_TRUE(good);
    return fault;
  }

  TempFolder folder_;
  DataConfig config_;
};

TEST_F(BrokenFiles, NoPath) {
  config_.path.clear();
  EXPECT_CONTAINS(open_error(), "data.path is not set");
}

TEST_F(BrokenFiles, MissingRoot) {
  config_.path = folder_ / "nowhere";
  EXPECT_CONTAINS(open_error(), "no such folder: " + config_.path);
}

TEST_F(BrokenFiles, MissingFolderListsWhatIsThere) {
  config_.train.images = "pictures";
  EXPECT_CONTAINS(open_error(), "data.train.images: no such folder");
  EXPECT_CONTAINS(open_error(), "images, masks");
}

TEST_F(BrokenFiles, NoUsualFolder) {
  fs::rename(folder_ / "masks", folder_ / "truth");
  EXPECT_CONTAINS(open_error(),
                  "set data.train.masks: none of the usual folders (masks, annotations, labels, mask, label, gt,");
  EXPECT_CONTAINS(open_error(), "truth");
}

TEST_F(BrokenFiles, WhatHasNoEndIsABadSample) {
  fs::create_symlink("/dev/zero", folder_ / "images/zeros.png");
  write_mask(folder_ / "masks/zeros.png");
  EXPECT_CONTAINS(fault_of("zeros"), "images/zeros.png: it is a device, a file was expected");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  write_image(folder_ / "images/odd.png");
  fs::create_symlink(folder_ / "pipe", folder_ / "masks/odd.png");
  EXPECT_CONTAINS(fault_of("odd"), "masks/odd.png: it is a pipe, a file was expected");
  fs::create_symlink("/dev/zero", folder_ / "val.txt");
  config_.val.list = "val.txt";
  EXPECT_CONTAINS(open_error(), "val.txt: it is a device, a file was expected");
}

TEST_F(BrokenFiles, EmptyFolder) {
  fs::create_directories(folder_ / "empty");
  config_.train.images = "empty";
  EXPECT_CONTAINS(open_error(), "no images below");
}

TEST_F(BrokenFiles, NothingMatches) {
  fs::rename(folder_ / "masks/good.png", folder_ / "masks/other.png");
  EXPECT_CONTAINS(open_error(), "images are named good.png; masks other.png");
}

TEST_F(BrokenFiles, TwoFilesOfOneStem) {
  write_image(folder_ / "images/good.tif");
  EXPECT_CONTAINS(open_error(), "two images have the stem 'good'");
  EXPECT_CONTAINS(open_error(), "good.tif");
}

TEST_F(BrokenFiles, TwoMasksOfOneImage) {
  write_mask(folder_ / "masks/good_mask.png");
  EXPECT_CONTAINS(open_error(), "image 'good' has two masks");
}

TEST_F(BrokenFiles, NoClasses) {
  config_.classes.clear();
  EXPECT_CONTAINS(open_error(), "set data.classes");
}

TEST_F(BrokenFiles, ListWithUnknownStem) {
  write_file(folder_ / "list.txt", std::string_view("goood\n"));
  config_.train.list = "list.txt";
  EXPECT_CONTAINS(open_error(), "list.txt names the sample 'goood'");
  EXPECT_CONTAINS(open_error(), "did you mean 'good'?");
}

TEST_F(BrokenFiles, ListWithDoubleStem) {
  write_file(folder_ / "list.txt", std::string_view("good\ngood.png\n"));
  config_.train.list = "list.txt";
  EXPECT_CONTAINS(open_error(), "'good' twice");
}

TEST_F(BrokenFiles, EmptyOrMissingList) {
  write_file(folder_ / "list.txt", std::string_view("# nothing\n"));
  config_.train.list = "list.txt";
  EXPECT_CONTAINS(open_error(), "names no samples");
  config_.train.list = "other.txt";
  EXPECT_CONTAINS(open_error(), "other.txt");
}

TEST_F(BrokenFiles, ImageWithoutMask) {
  write_image(folder_ / "images/lonely.png");
  EXPECT_CONTAINS(fault_of("lonely"), "lonely: no mask for the image");
}

TEST_F(BrokenFiles, MaskWithoutImageIsLeftOut) {
  write_mask(folder_ / "masks/lonely.png");
  EXPECT_EQ(make_dataset(config_, Split::kTrain)->size(), 1);
}

TEST_F(BrokenFiles, MaskOfAnotherSize) {
  write_image(folder_ / "images/odd.png", {4, 6});
  write_mask(folder_ / "masks/odd.png", {5, 6});
  EXPECT_CONTAINS(fault_of("odd"), "masks/odd.png is 5 x 6, image");
}

TEST_F(BrokenFiles, MaskTurnedAgainstImage) {
  write_image(folder_ / "images/odd.png", {4, 6});
  write_mask(folder_ / "masks/odd.png", {6, 4});
  EXPECT_CONTAINS(fault_of("odd"), "data.exif_orientation=false");
}

TEST_F(BrokenFiles, ZeroByteImage) {
  write_image(folder_ / "images/odd.png");
  write_mask(folder_ / "masks/odd.png");
  write_file(folder_ / "images/odd.png", std::string_view());
  EXPECT_CONTAINS(fault_of("odd"), "images/odd.png");
}

TEST_F(BrokenFiles, ZeroByteMask) {
  write_pair(folder_.path(), "odd");
  write_file(folder_ / "masks/odd.png", std::string_view());
  EXPECT_CONTAINS(fault_of("odd"), "masks/odd.png");
}

TEST_F(BrokenFiles, TruncatedImage) {
  write_pair(folder_.path(), "odd", {64, 64});
  const std::string bytes = read_text(folder_ / "images/odd.png");
  write_file(folder_ / "images/odd.png", std::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_CONTAINS(fault_of("odd"), "images/odd.png");
}

TEST_F(BrokenFiles, TextNamedPng) {
  write_pair(folder_.path(), "odd");
  write_file(folder_ / "images/odd.png", std::string_view("this is a letter, not a picture"));
  EXPECT_CONTAINS(fault_of("odd"), "images/odd.png");
}

TEST_F(BrokenFiles, PixelsThatAreNotNumbers) {
  // 2 rows of 3 floats; the last pixel of the image is replaced.
  const auto tiff_with = [](float last) {
    std::vector<uint8_t> strip(6 * sizeof(float), 0);
    std::memcpy(strip.data() + 5 * sizeof(float), &last, sizeof(float));
    testing::HandmadeTiff tiff = testing::grey_tiff(3, 2, 32, {strip});
    tiff.set(339, {3});
    return tiff.file();
  };
  write_mask(folder_ / "masks/odd.png", {2, 3});
  testing::write_bytes(folder_ / "images/odd.tif", tiff_with(0.5F));
  EXPECT_EQ(fault_of("odd"), "");
  for (const auto& [value, text] : {std::pair(std::numeric_limits<float>::quiet_NaN(), "nan"),
                                    std::pair(-std::numeric_limits<float>::infinity(), "-inf")}) {
    testing::write_bytes(folder_ / "images/odd.tif", tiff_with(value));
    EXPECT_CONTAINS(fault_of("odd"), "images/odd.tif: pixel (y 1, x 2) is not a number: channel 0 is " + std::string(text));
  }
  const DataReport report = report_of(survey_split(Split::kTrain, make_dataset(config_, Split::kTrain), 1, {}));
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_EQ(report.faults[0].id, "odd");
  EXPECT_TRUE(std::isfinite(report.mean.at(0)));
}

TEST_F(BrokenFiles, LabelOutOfRange) {
  write_image(folder_ / "images/odd.png");
  write_mask(folder_ / "masks/odd.png", {4, 6}, 9);
  EXPECT_CONTAINS(fault_of("odd"), "masks/odd.png");
  EXPECT_CONTAINS(fault_of("odd"), "9");
}

TEST_F(BrokenFiles, FolderNamedLikeAMask) {
  write_image(folder_ / "images/odd.png");
  fs::create_directories(folder_ / "masks/odd.png");
  EXPECT_CONTAINS(fault_of("odd"), "no mask for the image");
}

TEST_F(BrokenFiles, HiddenFilesOfOtherSystems) {
  write_file(folder_ / "images/._good.png", std::string_view("resource fork"));
  write_file(folder_ / "masks/._good.png", std::string_view("resource fork"));
  EXPECT_EQ(make_dataset(config_, Split::kTrain)->size(), 1);
}

TEST_F(BrokenFiles, DanglingSymlink) {
  write_pair(folder_.path(), "odd");
  fs::remove(folder_ / "images/odd.png");
  fs::create_symlink(folder_ / "gone.png", folder_ / "images/odd.png");
  EXPECT_CONTAINS(fault_of("odd"), "images/odd.png: No such file");
}

TEST_F(BrokenFiles, SymlinkLoopIsSurvived) {
  fs::create_directory_symlink(folder_ / "images", folder_ / "images/again");
  EXPECT_EQ(fault_of("good"), "");
  EXPECT_EQ(make_dataset(config_, Split::kTrain)->size(), 1);
}

}  // namespace
}  // namespace tessera
