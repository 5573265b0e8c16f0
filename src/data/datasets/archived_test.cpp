// Data sets in a ZIP archive, beside the same ones in folders: Note [Archives as folders].
#include <gtest/gtest.h>

#include "data/datasets/coco_files.h"
#include "data/datasets/dataset_factory.h"
#include "data/datasets/shared_files.h"
#include "storage/zip_writer.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

// An archive of a folder, its name before that of each file.
void zip_folder(const fs::path& folder, const fs::path& archive) {
  ZipWriter zip;
  for (const fs::path& file : list_files(folder))
    zip.add((folder.filename() / file.lexically_relative(folder)).generic_string(), read_bytes(file));
  write_file(archive, std::span<const uint8_t>(zip.finish()));
}

class Archived : public ::testing::Test {
 protected:
  // That a config means the same of the folder and of its archive.
  void expect_same(DataConfig config) {
    zip_folder(root_, folder_ / "data.zip");
    DataConfig archived = config;
    config.path = root_.string();
    archived.path = (folder_ / "data.zip").string();
    for (const Split split : {Split::kTrain, Split::kVal}) {
      const DatasetPtr one = make_dataset(config, split), other = make_dataset(archived, split);
      ASSERT_EQ(one->size(), other->size()) << name_of(split);
      EXPECT_GT(one->size(), 0) << name_of(split);
      EXPECT_EQ(one->origin().text, other->origin().text);
      for (int64_t i = 0; i < one->size(); ++i) {
        const Sample a = one->get(i), b = other->get(i);
        EXPECT_EQ(a.id, b.id);
        EXPECT_EQ(a.image.bytes(), b.image.bytes());
        EXPECT_EQ(a.labels.value().labels, b.labels.value().labels);
      }
      EXPECT_EQ(shared_files(*one, *other).size(), static_cast<size_t>(one->size())) << "of equal bytes";
    }
  }

  testing::TempFolder folder_;
  fs::path root_ = folder_ / "set";
};

TEST_F(Archived, PairsInFoldersOfSplits) {
  for (int i = 0; i < 3; ++i) {
    testing::write_image(root_ / fmt::format("images/train/{}.png", i), {4, 6}, static_cast<uint8_t>(i));
    testing::write_mask(root_ / fmt::format("masks/train/{}.png", i), {4, 6}, static_cast<int16_t>(i % 2));
  }
  testing::write_image(root_ / "images/val/v.png", {4, 6}, 9);
  testing::write_mask(root_ / "masks/val/v.png");
  DataConfig config;
  config.classes = {"a", "b"};
  expect_same(config);
}

TEST_F(Archived, PairsInOneFolderWithLists) {
  for (int i = 0; i < 4; ++i) {
    testing::write_image(root_ / fmt::format("all/{}.png", i), {4, 6}, static_cast<uint8_t>(i));
    testing::write_mask(root_ / fmt::format("all/{}_mask.png", i));
  }
  write_file(root_ / "val.txt", "1\n3\n");
  DataConfig config;
  config.classes = {"a", "b"};
  config.train.images = config.train.masks = "all";
  config.val.list = "val.txt";
  expect_same(config);
}

TEST_F(Archived, Ade20k) {
  for (const char* part : {"training", "validation"}) {
    testing::write_image(root_ / "ADEChallengeData2016/images" / part / "ADE_00000001.png");
    testing::write_mask(root_ / "ADEChallengeData2016/annotations" / part / "ADE_00000001.png", {4, 6}, 150);
  }
  DataConfig config;
  config.type = SourceType::kAde20k;
  expect_same(config);
}

TEST_F(Archived, Coco) {
  for (const char* split : {"train", "val"}) {
    testing::write_image(root_ / fmt::format("{}2017", split) / "000001.png", {4, 6});
    make_folders(root_ / "annotations");
    write_file(root_ / fmt::format("annotations/instances_{}2017.json", split),
               R"({"images": [{"id": 1, "file_name": "000001.png", "height": 4, "width": 6}],
                   "annotations": [{"id": 5, "image_id": 1, "category_id": 2, "segmentation": [[1, 1, 5, 1, 5, 3]]}],
                   "categories": [{"id": 2, "name": "cat", "supercategory": "animal"}]})");
  }
  DataConfig config;
  config.type = SourceType::kCoco;
  config.coco.classes = CocoClasses::kCategory;
  expect_same(config);
}

TEST_F(Archived, ADamagedEntryCostsItsSampleAlone) {
  for (int i = 0; i < 2; ++i) {
    testing::write_image(root_ / fmt::format("images/{}.png", i));
    testing::write_mask(root_ / fmt::format("masks/{}.png", i));
  }
  zip_folder(root_, folder_ / "data.zip");
  std::vector<uint8_t> bytes = read_bytes(folder_ / "data.zip");
  bytes[60] ^= 1;  // of the first image
  write_file(folder_ / "data.zip", std::span<const uint8_t>(bytes));
  DataConfig config;
  config.path = (folder_ / "data.zip").string();
  config.classes = {"a", "b"};
  config.val_share = 0;
  const DatasetPtr data = make_dataset(config, Split::kTrain);
  EXPECT_CONTAINS(testing::message_of<BadSample>([&] { data->get(0); }),
                  "the checksum of entry 'set/images/0.png' does not match");
  EXPECT_EQ(data->get(1).id, "1");
}

TEST_F(Archived, TheRealAde20k) {
  TSR_NEED_DATA(real, "ade20k_sample");
  root_ = real;
  zip_folder(real, folder_ / "real.zip");
  DataConfig config;
  config.type = SourceType::kAde20k;
  config.path = real.string();
  const DatasetPtr one = make_dataset(config, Split::kVal);
  config.path = (folder_ / "real.zip").string();
  const DatasetPtr other = make_dataset(config, Split::kVal);
  ASSERT_EQ(one->size(), other->size());
  for (int64_t i = 0; i < one->size(); ++i) EXPECT_EQ(one->get(i).image.bytes(), other->get(i).image.bytes());
}

}  // namespace
}  // namespace tessera
