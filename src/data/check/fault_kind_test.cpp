#include "data/check/fault_kind.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/handmade_files.h"
#include "support/image_files.h"

// Every reason is made by the code that gives it.

namespace tessera {
namespace {

using testing::Bytes;

class FaultKinds : public ::testing::Test {
 protected:
  FaultKinds() {
    config_ = testing::pairs_at(folder_.path());
    config_.val_share = 0;
    testing::write_pair(folder_.path(), "a");
  }
  FindingKind kind() {
    try {
      make_dataset(config_, Split::kTrain)->get(0);
    } catch (const BadSample& bad) {
      return fault_kind(bad.reason());
    }
    ADD_FAILURE() << "the sample is no bad one";
    return FindingKind::kUnusable;
  }
  FindingKind kind_of_image(const Bytes& bytes) {
    write_file(folder_ / "images/a.png", bytes);
    return kind();
  }
  FindingKind kind_of_mask(const Bytes& bytes) {
    write_file(folder_ / "masks/a.png", bytes);
    return kind();
  }
  static Bytes text(std::string_view words) { return {words.begin(), words.end()}; }

  testing::TempFolder folder_;
  DataConfig config_;
};

TEST_F(FaultKinds, WhatLiesInPlaceOfAnImage) {
  EXPECT_EQ(kind_of_image({}), FindingKind::kEmptyFile);
  EXPECT_EQ(kind_of_image(text("<!DOCTYPE html>")), FindingKind::kWebPage);
  EXPECT_EQ(kind_of_image(text("version https://git-lfs.github.com/spec/v1")), FindingKind::kLfsPointer);
  EXPECT_EQ(kind_of_image(text("{\"error\": 404}")), FindingKind::kJsonAnswer);
  EXPECT_EQ(kind_of_image(text("GIF89a")), FindingKind::kForeignFormat);
  EXPECT_EQ(kind_of_image(text("nothing known")), FindingKind::kForeignFormat);
}

TEST_F(FaultKinds, BrokenImages) {
  Bytes png = encode_png(Image(4, 6, 3));
  Bytes cut(png.begin(), png.begin() + 40);
  EXPECT_EQ(kind_of_image(cut), FindingKind::kTruncated);
  Bytes bent = png;
  bent[bent.size() - 20] ^= 0x55U;
  EXPECT_EQ(kind_of_image(bent), FindingKind::kCorrupt);
  config_.max_pixels = 10;
  EXPECT_EQ(kind_of_image(png), FindingKind::kTooLarge);
  config_.max_pixels = kUsualMaxPixels;
  config_.channels = 5;
  EXPECT_EQ(kind_of_image(png), FindingKind::kOddChannels);
  config_.channels = 3;
  fs::remove(folder_ / "images/a.png");
  fs::create_symlink(folder_ / "nowhere.png", folder_ / "images/a.png");
  write_file(folder_ / "images/b.png", png);
  fs::remove(folder_ / "images/a.png");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  fs::create_symlink(folder_ / "pipe", folder_ / "masks/b.png");
  EXPECT_EQ(kind(), FindingKind::kMissingFile);
}

TEST_F(FaultKinds, Masks) {
  EXPECT_EQ(kind_of_mask(encode_png(Image(9, 6, 1))), FindingKind::kSizeMismatch);
  LabelMap high(4, 6, 9);
  EXPECT_EQ(kind_of_mask(encode_png_labels(high)), FindingKind::kLabelOutOfRange);
  config_.labels.offset = -1;
  EXPECT_EQ(kind(), FindingKind::kLabelOutOfRange);
  config_.labels.map = {{0, 0}};
  EXPECT_EQ(kind(), FindingKind::kLabelOutOfRange);
  config_.labels = {};
  config_.labels.colors = {{0, 0, 0}, {255, 0, 0}};
  EXPECT_EQ(kind(), FindingKind::kUnlistedColour);
  config_.labels = {};
  Image red(4, 6, 3);
  red.bytes()[0] = 255;
  EXPECT_EQ(kind_of_mask(encode_png(red)), FindingKind::kColouredMask);
  EXPECT_EQ(kind_of_mask({0xFF, 0xD8, 0xFF}), FindingKind::kLossyMask);
  EXPECT_EQ(kind_of_mask(testing::grey_tiff(6, 4, 32, {Bytes(96, 0xFF)}).file()), FindingKind::kFractionalMask);
  fs::remove(folder_ / "masks/a.png");
  testing::write_pair(folder_.path(), "z");
  EXPECT_EQ(kind(), FindingKind::kMissingMask);
}

TEST(FindingTable, HasEachKindInItsPlaceUnderANameOfItsOwn) {
  std::set<std::string_view> names;
  size_t place = 0;
  for (const FindingFacts& facts : finding_table()) {
    EXPECT_EQ(static_cast<size_t>(facts.kind), place++);
    EXPECT_TRUE(names.insert(facts.name).second) << facts.name;
    EXPECT_FALSE(facts.title.empty() || facts.advice.empty()) << facts.name;
  }
  EXPECT_EQ(place, static_cast<size_t>(FindingKind::kUndeclaredIgnore) + 1);
}

}  // namespace
}  // namespace tessera
