#include "data/check/mask_look.h"

#include <gtest/gtest.h>

#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

RawMask mask_of(int width, std::vector<int32_t> values, bool rgb = false, int bits = 8) {
  RawMask mask;
  mask.width = width;
  mask.height = static_cast<int>(values.size()) / width;
  mask.values = std::move(values);
  mask.rgb = rgb;
  mask.bits = bits;
  return mask;
}

TEST(MaskLook, CountsValuesAndPieces) {
  MaskLook look;
  // 1 touches itself over a corner, 2 lies in two places.
  look.add(mask_of(4, {1, 0, 2, 0,  //
                       0, 1, 0, 0,  //
                       0, 0, 0, 2}));
  look.add(mask_of(2, {0, 0, 0, 0}));
  EXPECT_EQ(look.masks, 2);
  EXPECT_EQ(look.pixels, 16);
  EXPECT_EQ(look.values, (std::map<int32_t, int64_t>{{0, 12}, {1, 2}, {2, 2}}));
  EXPECT_EQ(look.with_objects, 1);
  EXPECT_EQ(look.values_in_masks, 2);
  EXPECT_EQ(look.pieces, 3);
  EXPECT_EQ(look.numbered_from_1, 1);
}

TEST(MaskLook, GreyStoredAsColoursIsGreyUntilAColourComes) {
  MaskLook look;
  look.add(mask_of(2, {0, 0xFFFFFF}, true));
  EXPECT_FALSE(look.coloured);
  EXPECT_EQ(list_values(look), "0, 255");
  look.add(mask_of(2, {0, 0xFF0000}, true));
  EXPECT_TRUE(look.coloured);
  EXPECT_EQ(list_values(look), "[0,0,0], [255,0,0], [255,255,255]");
  look.add(mask_of(2, {0, 0}, true));
  EXPECT_EQ(look.values.at(0), 4);
}

TEST(MaskLook, ListsStretchesOfValues) {
  MaskLook look;
  look.add(mask_of(8, {0, 1, 2, 3, 7, 8, 11, 255}));
  EXPECT_EQ(list_values(look), "0..3, 7, 8, 11, 255");
}

TEST(MaskLook, TellsObjectsFromClasses) {
  MaskLook cells;  // 3, 4 and 5 of them, numbered anew in each mask
  for (const int count : {3, 4, 5}) {
    std::vector<int32_t> row(20);
    for (int k = 0; k < count; ++k) row[static_cast<size_t>(4 * k)] = k + 1;
    cells.add(mask_of(20, row, false, 16));
  }
  EXPECT_TRUE(numbers_objects(cells));
  MaskLook scene;  // classes come back in several pieces
  for (const int last : {3, 4, 5}) {
    std::vector<int32_t> row;
    for (int k = 0; k < 4; ++k) {
      for (int32_t v = 1; v <= last; ++v) row.push_back(v);
    }
    scene.add(mask_of(static_cast<int>(row.size()), row));
  }
  EXPECT_FALSE(numbers_objects(scene));
  MaskLook organs;  // the same few in one piece each, some of them missing at times
  for (const std::vector<int32_t>& row : std::vector<std::vector<int32_t>>{{0, 1, 2, 3}, {0, 2, 3, 4}, {0, 1, 3, 4}})
    organs.add(mask_of(4, row));
  EXPECT_FALSE(numbers_objects(organs));
}

TEST(MaskLook, ReadsTheMasksOfADataSetAndPassesOverBrokenOnes) {
  testing::TempFolder folder;
  for (const char* name : {"a", "b", "c"}) testing::write_pair(folder.path(), name);
  write_file(folder / "masks/b.png", std::string_view("no picture"));
  DataConfig config = testing::pairs_at(folder.path());
  config.val_share = 0;
  const DatasetPtr data = make_dataset(config, Split::kTrain);
  const std::vector<int64_t> all{0, 1, 2};
  for (const int threads : {1, 3}) {
    const MaskLook look = look_at_masks(*data, all, 1000, true, threads);
    EXPECT_EQ(look.masks, 2);
    EXPECT_EQ(look.values, (std::map<int32_t, int64_t>{{0, 24}, {1, 24}}));
  }
}

TEST(MaskLook, AFewOddMasksHaveNoSay) {
  testing::TempFolder folder;
  std::vector<int64_t> all;
  for (int i = 0; i < 12; ++i) {
    testing::write_pair(folder.path(), fmt::format("m{:02}", i), {16, 16});
    all.push_back(i);
  }
  Image red(16, 16, 3);
  red.bytes()[0] = 255;
  write_file(folder / "masks/m03.png", encode_png(red));
  LabelMap soft(16, 16);
  for (size_t i = 0; i < soft.labels.size(); ++i)
    soft.labels[i] =
        static_cast<int16_t>(std::clamp<int>(static_cast<int>(i % 16) * 60 - 400 + static_cast<int>(i / 16) % 5, 0, 255));
  write_file(folder / "masks/m04.png", encode_png_labels(soft));
  DataConfig config = testing::pairs_at(folder.path());
  config.val_share = 0;
  const MaskLook look = look_at_masks(*make_dataset(config, Split::kTrain), all, 1000, true, 2);
  EXPECT_EQ(look.masks, 10);
  EXPECT_EQ(look.values, (std::map<int32_t, int64_t>{{0, 1280}, {1, 1280}}));
}

TEST(MaskLook, UsualValuesAreThoseOfMoreThanAFewMasks) {
  MaskLook look;
  for (int i = 0; i < 9; ++i) look.add(mask_of(2, {0, i == 4 ? 77 : 1}));
  EXPECT_EQ(look.masks_with, (std::map<int32_t, int64_t>{{0, 9}, {1, 8}, {77, 1}}));
  EXPECT_EQ(usual_values(look).values.size(), 2U);
  MaskLook few;
  few.add(mask_of(2, {0, 77}));
  EXPECT_EQ(usual_values(few).values.size(), 2U);
}

}  // namespace
}  // namespace tessera
