#include "data/datasets/folder_names.h"

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

TEST(FolderNames, SplitsAreKnownByTheirUsualNames) {
  for (const char* name : {"train", "Training", "TRAIN", "train2017", "train_set"})
    EXPECT_EQ(split_named(name), Split::kTrain) << name;
  for (const char* name : {"val", "valid", "Validation", "val2014"}) EXPECT_EQ(split_named(name), Split::kVal) << name;
  for (const char* name : {"test", "testing", "test-set"}) EXPECT_EQ(split_named(name), Split::kTest) << name;
  for (const char* name : {"", "trains", "setA", "2017", "contest", "train_extra", "trainannot", "tr"})
    EXPECT_EQ(split_named(name), std::nullopt) << name;
}

TEST(FolderNames, ANameMaySayBothSplitAndKind) {
  const auto means = [](const char* name, Split split, FolderKind kind) {
    const FolderMeaning meaning = meaning_of(name);
    EXPECT_EQ(meaning.split, split) << name;
    EXPECT_EQ(meaning.kind, kind) << name;
  };
  means("trainannot", Split::kTrain, FolderKind::kMasks);
  means("val_labels", Split::kVal, FolderKind::kMasks);
  means("labelTrain", Split::kTrain, FolderKind::kMasks);
  means("imagesTr", Split::kTrain, FolderKind::kImages);
  means("labelsTs", Split::kTest, FolderKind::kMasks);
  means("test_images", Split::kTest, FolderKind::kImages);
  means("test", Split::kTest, FolderKind::kAny);
  EXPECT_EQ(meaning_of("Masks").kind, FolderKind::kMasks);
  EXPECT_EQ(meaning_of("Masks").split, std::nullopt);
  EXPECT_EQ(meaning_of("trailmap").split, std::nullopt);
}

TEST(FolderNames, TheCommonestNameIsTakenAndAFolderOfOtherFilesIsNot) {
  const testing::TempFolder folder;
  EXPECT_TRUE(folder_of_kind(folder.path(), FolderKind::kMasks).empty());
  fs::create_directories(folder / "GT");
  EXPECT_EQ(folder_of_kind(folder.path(), FolderKind::kMasks), folder / "GT");
  testing::write_mask(folder / "labels/a.png");
  EXPECT_EQ(folder_of_kind(folder.path(), FolderKind::kMasks), folder / "labels");
  fs::create_directories(folder / "annotations");  // comes first, and holds COCO's JSON
  write_file(folder / "annotations/a.json", std::string_view("{}"));
  EXPECT_EQ(folder_of_kind(folder.path(), FolderKind::kMasks), folder / "labels");
  testing::write_mask(folder / "annotations/a.png");
  EXPECT_EQ(folder_of_kind(folder.path(), FolderKind::kMasks), folder / "annotations");
}

TEST(FolderNames, TwoFoldersOfOneSplitAreAnError) {
  const testing::TempFolder folder;
  fs::create_directories(folder / "val");
  EXPECT_EQ(folder_of_split(folder.path(), Split::kVal), folder / "val");
  fs::create_directories(folder / "validation");
  EXPECT_CONTAINS(testing::message_of([&] { folder_of_split(folder.path(), Split::kVal); }),
                  "two folders that are called after the val split: val and validation; say which with data.val.images");
}

}  // namespace
}  // namespace tessera
