#include "data/datasets/object_masks.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/handmade_files.h"
#include "support/image_files.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::TempFolder;
using testing::write_bytes;
using testing::write_image;
using testing::write_mask;

class ObjectMasks : public ::testing::Test {
 protected:
  ObjectMasks() {
    config_.path = folder_.path();
    config_.classes = {"background", "nucleus"};
    config_.val_share = 0;
  }

  // Pairs whose masks have 0 on the left and these values on the right.
  void write(const std::vector<int16_t>& right) {
    for (const int16_t value : right) {
      const std::string name = fmt::format("{:04}.png", count_++);
      write_image(folder_ / "images" / name);
      write_mask(folder_ / "masks" / name, {4, 6}, value);
    }
  }
  std::string said() const {
    return testing::message_of<UsageError>([&] { make_dataset(config_, Split::kTrain)->check_labels(); });
  }

  TempFolder folder_;
  DataConfig config_;
  int count_ = 0;
};

TEST_F(ObjectMasks, ZeroAnd255OfTwoClassesAreRefusedWithTheKeysToSet) {
  write({0, 255, 255});
  EXPECT_EQ(
      said(),
      "the masks hold no values but 0 and 255 (3 of 3 looked at), and 255 counts as \"not labelled\": no pixel would be "
      "'nucleus'. Set data.labels.binary=true if 255 marks 'nucleus', or data.labels.ignore=[255] if it marks pixels that "
      "nobody labelled");
}

TEST_F(ObjectMasks, WhatTheUserHasSaidIsBelieved) {
  write({255, 255});
  config_.labels.ignore = {255};
  EXPECT_EQ(said(), "");
  config_.labels = {};
  config_.labels.binary = true;
  EXPECT_EQ(said(), "");
  config_.labels = {};
  config_.labels.map = {{0, 0}, {255, 1}};
  EXPECT_EQ(said(), "");
  config_.labels.map = {{0, 0}, {1, 1}};
  EXPECT_CONTAINS(said(), "data.labels.binary=true");
  config_.labels.map = {};
  config_.labels.offset = -254;
  EXPECT_EQ(said(), "");
}

TEST_F(ObjectMasks, SomeMasksOfADataSetMayLeaveAllObjectsUnlabelled) {
  write({255, 255, 255, 1, 255});
  EXPECT_EQ(said(), "");
}

TEST_F(ObjectMasks, MasksWithoutAnyObjectSayNothing) {
  write({0, 0});
  EXPECT_EQ(said(), "");
}

TEST_F(ObjectMasks, ThreeClassesMayLeave255Unlabelled) {
  write({255, 255});
  config_.classes = {"road", "sky", "car"};
  EXPECT_EQ(said(), "");
}

TEST_F(ObjectMasks, ALargeDataSetIsLookedAtAllOver) {
  write(std::vector<int16_t>(200, 255));
  EXPECT_CONTAINS(said(), "(32 of 200 looked at)");
  write(std::vector<int16_t>(20, 1));  // at the end
  EXPECT_EQ(said(), "");
}

TEST_F(ObjectMasks, GreyStoredAsRgbAndDeepMasksAreKnownToo) {
  write_image(folder_ / "images/a.png", {1, 2});
  write_bytes(folder_ / "masks/a.png", testing::handmade_png(testing::png_header(2, 1, 8, 2), {0, 0, 0, 0, 255, 255, 255}));
  EXPECT_CONTAINS(said(), "0 and 255 (1 of 1 looked at)");
  config_.labels.ignore = {0xFFFFFF};
  EXPECT_EQ(said(), "");
  config_.labels.ignore = {};
  write_bytes(folder_ / "masks/a.png", testing::handmade_png(testing::png_header(2, 1, 16, 0), {0, 0, 0, 255, 255}));
  EXPECT_CONTAINS(said(), "data.labels.ignore=[65535]");
  write_bytes(folder_ / "masks/a.png", testing::handmade_png(testing::png_header(2, 1, 1, 0), {0, 0b01000000}));
  EXPECT_EQ(said(), "");
}

TEST_F(ObjectMasks, UnreadableMasksHaveNoSay) {
  write({255, 255});
  write_bytes(folder_ / "masks/0000.png", std::vector<uint8_t>{1, 2, 3});
  write_image(folder_ / "images/lonely.png");
  EXPECT_CONTAINS(said(), "(1 of 3 looked at)");
}

}  // namespace
}  // namespace tessera
