#include "data/datasets/pair_matching.h"

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::write_image;
using testing::write_mask;

class PairMatching : public ::testing::Test {
 protected:
  void text(const std::string& file) {
    fs::create_directories((folder_ / file).parent_path());
    write_file(folder_ / file, std::string_view("x"));
  }
  MatchedPairs match() { return match_pairs({.images = folder_ / "images", .masks = folder_ / "masks"}); }
  testing::TempFolder folder_;
};

TEST_F(PairMatching, MasksWithoutAnImageAreNamed) {
  testing::write_pair(folder_.path(), "a");
  write_mask(folder_ / "masks/b.png");
  const MatchedPairs found = match();
  EXPECT_EQ(found.pairs.size(), 1U);
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(found.notes[0],
            fmt::format("1 of 2 masks in {} have no image and are left out: b.png", (folder_ / "masks").string()));
}

// Before, "1 of 2 masks have no image" was all that was said of a file that is there.
TEST_F(PairMatching, FilesOfFormatsThatAreNotReadAreCountedByTheirExtension) {
  testing::write_pair(folder_.path(), "a");
  for (const char* file : {"images/b.XYZ", "images/c.xyz", "images/d.nii.gz", "images/notes.txt", "images/Thumbs.db"})
    text(file);
  for (const char* file : {"masks/b_mask.png", "masks/c.png", "masks/d.png"}) write_mask(folder_ / file);
  const MatchedPairs found = match();
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_CONTAINS(found.notes[0], "3 files in " + (folder_ / "images").string() +
                                      " are skipped, as their format is not read (1 .nii.gz, 2 .xyz)");
}

TEST_F(PairMatching, WhereNothingIsReadTheErrorSaysWhatIsThere) {
  text("images/a.xyz");
  write_mask(folder_ / "masks/a.png");
  EXPECT_CONTAINS(testing::message_of([&] { match(); }), "; found 1 .xyz, which are not read: convert them");
}

TEST_F(PairMatching, EndingsAreTakenOffBothNames) {
  write_image(folder_ / "images/x/a_left.png");
  write_image(folder_ / "images/x/a_right.png");
  write_mask(folder_ / "masks/x/a_gt_ids.png");
  write_mask(folder_ / "masks/x/a_gt_color.png");
  const MatchedPairs found = match_pairs({folder_ / "images", folder_ / "masks", "_left", "_gt_ids", false});
  ASSERT_EQ(found.pairs.size(), 1U);
  EXPECT_EQ(found.pairs[0].stem, "x/a");
  EXPECT_EQ(found.pairs[0].image, folder_ / "images/x/a_left.png");
  EXPECT_EQ(found.pairs[0].mask, folder_ / "masks/x/a_gt_ids.png");
  EXPECT_TRUE(found.notes.empty());
}

TEST_F(PairMatching, WithoutAFolderOfMasksNoPairHasOne) {
  write_image(folder_ / "images/a.png");
  const MatchedPairs found = match_pairs({.images = folder_ / "images", .masks = {}});
  ASSERT_EQ(found.pairs.size(), 1U);
  EXPECT_TRUE(found.pairs[0].mask.empty());
}

TEST_F(PairMatching, EveryFormatIsFoundByItsExtension) {
  for (const char* name :
       {"a.jpg", "a.JPEG", "a.png", "a.tif", "a.ome.tiff", "a.bmp", "a.webp", "a.jp2", "a.j2k", "a.npy", "a.DCM"}) {
    EXPECT_TRUE(is_image_file(name)) << name;
  }
  for (const char* name : {"a", "a.txt", "a.npz", "a.gif"}) EXPECT_FALSE(is_image_file(name)) << name;
  EXPECT_EQ(image_extensions(), "jpg, jpeg, png, tif, tiff, bmp, webp, jp2, j2k, jpx, npy or dcm");
}

TEST_F(PairMatching, AnOmeTiffAndItsMaskMayDifferInTheOme) {
  const testing::TempFolder& root = folder_;
  for (const char* name :
       {"images/a.ome.tif", "images/b.tif", "images/c.ome.tif", "masks/a.png", "masks/b_mask.ome.tif", "masks/c.ome.tif"})
    testing::write_bytes(root / name, {});
  const auto pairs = match_pairs({.images = root / "images", .masks = root / "masks"}).pairs;
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].stem, "a.ome");
  EXPECT_EQ(fs::path(pairs[0].mask).filename(), "a.png");
  EXPECT_EQ(fs::path(pairs[1].mask).filename(), "b_mask.ome.tif");
  EXPECT_EQ(fs::path(pairs[2].mask).filename(), "c.ome.tif");
}

TEST_F(PairMatching, NamesThatDifferInHowAccentsAreWrittenAreToldApart) {
  testing::write_bytes(folder_ / "images/u\xCC\x88.png", {});
  testing::write_bytes(folder_ / "masks/\xC3\xBC.png", {});
  const auto message = [&] {
    return testing::message_of([&] { match_pairs({.images = folder_ / "images", .masks = folder_ / "masks"}); });
  };
  EXPECT_CONTAINS(message(), "In the names of the images accents are characters of their own");
  fs::rename(folder_ / "images/u\xCC\x88.png", folder_ / "images/x.png");
  EXPECT_EQ(message().find("accents"), std::string::npos);
}

}  // namespace
}  // namespace tessera
