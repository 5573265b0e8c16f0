#include "data/datasets/pairs.h"

#include <gtest/gtest.h>

#include <set>

#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::pairs_at;
using testing::TempFolder;
using testing::write_image;
using testing::write_mask;
using testing::write_pair;

std::vector<std::string> ids(const DatasetPtr& data) {
  std::vector<std::string> result;
  for (int64_t i = 0; i < data->size(); ++i) result.push_back(data->id(i));
  return result;
}

TEST(Pairs, MatchByStemWhateverTheExtensionAndNesting) {
  TempFolder folder;
  for (const char* stem : {"a", "deep/er/b", "c.v2", "name with spaces", "größe-画像"}) {
    write_image(folder / ("images/" + std::string(stem) + ".PNG"));
  }
  write_mask(folder / "masks/a.png");
  write_mask(folder / "masks/deep/er/b_mask.png");
  write_mask(folder / "masks/c.v2-mask.Png");
  write_mask(folder / "masks/name with spaces_seg.png");
  write_mask(folder / "masks/größe-画像_label.png");
  DataConfig config = pairs_at(folder.path());
  config.val_share = 0;
  const auto data = make_pairs(config, Split::kTrain);
  EXPECT_EQ(ids(data), (std::vector<std::string>{"a", "c.v2", "deep/er/b", "größe-画像", "name with spaces"}));
  for (int64_t i = 0; i < data->size(); ++i) {
    const Sample sample = data->get(i);
    EXPECT_EQ(sample.labels->at(0, 5), 1);
    EXPECT_EQ(sample.placement.width, 6);
  }
  EXPECT_EQ(make_pairs(config, Split::kVal)->size(), 0);
}

TEST(Pairs, OneFolderCanHoldBoth) {
  TempFolder folder;
  write_image(folder / "all/a.png");
  write_mask(folder / "all/a_mask.png");
  write_image(folder / "all/b.png");
  write_mask(folder / "all/b_mask.png");
  DataConfig config = pairs_at(folder.path());
  config.train.images = config.train.masks = "all";
  config.val_share = 0;
  EXPECT_EQ(ids(make_pairs(config, Split::kTrain)), (std::vector<std::string>{"a", "b"}));
}

// Twenty pairs, five of them for val.
DataConfig shared_pairs(const TempFolder& folder) {
  for (int i = 0; i < 20; ++i) write_pair(folder.path(), "s" + std::to_string(i));
  DataConfig config = pairs_at(folder.path());
  config.val_share = 0.25;
  return config;
}

TEST(Pairs, ShareIsDrawnBySeedAndCoversAllOnce) {
  TempFolder folder;
  DataConfig config = shared_pairs(folder);
  const auto train = ids(make_pairs(config, Split::kTrain)), val = ids(make_pairs(config, Split::kVal));
  EXPECT_EQ(val.size(), 5U);
  std::set<std::string> both(train.begin(), train.end());
  both.insert(val.begin(), val.end());
  EXPECT_EQ(both.size(), 20U);
  EXPECT_EQ(ids(make_pairs(config, Split::kVal)), val);
  config.split_seed = 1;
  EXPECT_NE(ids(make_pairs(config, Split::kVal)), val);
  config.train.count = 3;
  EXPECT_EQ(make_pairs(config, Split::kTrain)->size(), 3);
}

TEST(Pairs, FilesThatComeAndGoMoveNoOthersBetweenTheSplits) {
  TempFolder folder;
  const DataConfig config = shared_pairs(folder);
  const auto train = ids(make_pairs(config, Split::kTrain)), val = ids(make_pairs(config, Split::kVal));
  for (const char* kind : {"images", "masks"}) fs::remove(folder / kind / (train[3] + ".png"));
  EXPECT_EQ(ids(make_pairs(config, Split::kVal)), val);
}

TEST(Pairs, ListsChooseInTheirOrder) {
  TempFolder folder;
  for (const char* stem : {"a", "b", "c", "d"}) write_pair(folder.path(), stem);
  write_file(folder / "train.txt", std::string_view("# chosen by hand\nd\n\n  a.png\r\n"));
  write_file(folder / "val.txt", std::string_view("b\n"));
  DataConfig config = pairs_at(folder.path());
  config.val.list = "val.txt";
  EXPECT_EQ(ids(make_pairs(config, Split::kVal)), (std::vector<std::string>{"b"}));
  EXPECT_EQ(ids(make_pairs(config, Split::kTrain)), (std::vector<std::string>{"a", "c", "d"}));  // never what val measures on
  config.train.list = "train.txt";
  EXPECT_EQ(ids(make_pairs(config, Split::kTrain)), (std::vector<std::string>{"d", "a"}));
  config.val.list.clear();
  config.val_share = 0.5;
  EXPECT_EQ(make_pairs(config, Split::kVal)->size(), 1);
  EXPECT_EQ(make_pairs(config, Split::kTrain)->size(), 1);
}

TEST(Pairs, ListsThatOverlapAreRefused) {
  TempFolder folder;
  for (const char* stem : {"a", "b", "c", "d"}) write_pair(folder.path(), stem);
  write_file(folder / "train.txt", std::string_view("a\nb\nc\n"));
  write_file(folder / "val.txt", std::string_view("d\nc\nb\n"));
  DataConfig config = pairs_at(folder.path());
  config.train.list = "train.txt";
  config.val.list = "val.txt";
  for (Split split : {Split::kTrain, Split::kVal}) {
    EXPECT_CONTAINS(testing::message_of([&] { make_pairs(config, split); }),
                    "data.train.list and data.val.list share 2 of 3 validation samples: c, b; take them out of one list");
  }
}

TEST(Pairs, MoreColoursThanClassesAreAMistakeOfTheConfig) {
  TempFolder folder;
  write_pair(folder.path(), "a");
  DataConfig config = pairs_at(folder.path());
  config.labels.colors = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
  EXPECT_THROW(make_pairs(config, Split::kTrain), UsageError);
}

TEST(Pairs, FoldersOfTheirOwn) {
  TempFolder folder;
  write_image(folder / "imgs/x.png");
  write_mask(folder / "labels/x.png");
  write_image(folder / "v/pics/y.png");
  write_mask(folder / "v/truth/y.png");
  DataConfig config = pairs_at(folder.path());
  config.val.images = "v/pics";
  config.val.masks = "v/truth";
  EXPECT_EQ(ids(make_pairs(config, Split::kTrain)), (std::vector<std::string>{"x"}));
  EXPECT_EQ(ids(make_pairs(config, Split::kVal)), (std::vector<std::string>{"y"}));
}

TEST(Pairs, BinaryMasksNeedNoNames) {
  TempFolder folder;
  write_image(folder / "images/a.png");
  write_mask(folder / "masks/a.png", {4, 6}, 255);
  DataConfig config = pairs_at(folder.path());
  config.classes.clear();
  config.labels.binary = true;
  config.val_share = 0;
  const auto data = make_pairs(config, Split::kTrain);
  EXPECT_EQ(data->classes().names, (std::vector<std::string>{"background", "foreground"}));
  EXPECT_EQ(data->get(0).labels->at(3, 5), 1);
}

TEST(Pairs, ReadsTheRealThing) {
  TSR_NEED_DATA(root, "dsb2018_nuclei");
  DataConfig config = pairs_at(root);
  config.classes = {"background", "nucleus"};
  config.labels.binary = true;
  config.train.images = "images/training";
  config.train.masks = "annotations/training";
  config.val.images = "images/validation";
  config.val.masks = "annotations/validation";
  const auto train = make_pairs(config, Split::kTrain), val = make_pairs(config, Split::kVal);
  EXPECT_GT(train->size(), 3 * val->size());
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(val->get(i).labels->size(), val->get(i).image.size());
}

}  // namespace
}  // namespace tessera
