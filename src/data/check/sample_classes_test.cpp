#include "data/check/sample_classes.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.h"
#include "data/datasets/dataset_factory.h"
#include "support/cache_folder.h"
#include "support/fixed_dataset.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::bad_sample;
using testing::FixedDataset;
using testing::row_sample;

TEST(SampleClasses, AreCountedSampleBySample) {
  const FixedDataset data({row_sample("x", {0, 1, 2, 3}, {0, 1, 1, -1}), bad_sample("y"), row_sample("z", {0, 1}, {2, 2})});
  for (const int threads : {1, 3}) {
    const std::vector<SampleClasses> all = count_sample_classes(data, threads);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0], (SampleClasses{{{0, 1}, {1, 2}}, 3, true}));
    EXPECT_EQ(all[1], SampleClasses());
    EXPECT_EQ(all[2], (SampleClasses{{{2, 2}}, 2, true}));
  }
}

// What is kept is found again while the files are the same ones, and not when one of them has changed.
TEST(SampleClasses, AreKeptUntilAFileChanges) {
  const testing::OwnCache cache;
  const testing::TempFolder folder;
  testing::write_pair(folder.path(), "a");
  testing::write_pair(folder.path(), "b");
  DataConfig config = testing::pairs_at(folder.path());
  config.val_share = 0;
  const auto counted = [&] { return kept_sample_classes(*make_dataset(config, Split::kTrain), config, 1); };
  const std::vector<SampleClasses> first = counted();
  EXPECT_EQ(first.at(0), (SampleClasses{{{0, 12}, {1, 12}}, 24, true}));
  const auto kept = list_files(cache.path() / "labels");
  ASSERT_EQ(kept.size(), 1U);
  // That it is read, and not counted again, shows in a number that is not the files'.
  std::string text = read_text(kept[0]);
  text.replace(text.find("12"), 2, "11");
  write_file(kept[0], text);
  EXPECT_EQ(counted().at(0).pixels.at(0).second, 11);
  // Nobody may take a class that there is not for a place in a list.
  for (const std::string damaged : {"[[24,2,24],[24,0,24]]", "[[24,-1,24],[24,0,24]]", "[[24,0,-24],[24,0,24]]"}) {
    write_file(kept[0], damaged);
    EXPECT_EQ(counted(), first) << damaged;
  }
  testing::write_mask(folder / "masks/a.png", {4, 6}, 0);
  EXPECT_EQ(counted().at(0), (SampleClasses{{{0, 24}}, 24, true}));
  EXPECT_EQ(list_files(cache.path() / "labels").size(), 2U);
  write_file(list_files(cache.path() / "labels")[0], std::string_view("damaged"));
  write_file(list_files(cache.path() / "labels")[1], std::string_view("damaged"));
  EXPECT_EQ(counted().at(1), first.at(1));
}

}  // namespace
}  // namespace tessera
