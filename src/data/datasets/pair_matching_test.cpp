#include "data/datasets/pair_matching.h"

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

TEST(PairMatching, EveryFormatIsFoundByItsExtension) {
  for (const char* name :
       {"a.jpg", "a.JPEG", "a.png", "a.tif", "a.ome.tiff", "a.bmp", "a.webp", "a.jp2", "a.j2k", "a.npy", "a.DCM"}) {
    EXPECT_TRUE(is_image_file(name)) << name;
  }
  for (const char* name : {"a", "a.txt", "a.npz", "a.gif"}) EXPECT_FALSE(is_image_file(name)) << name;
  EXPECT_EQ(image_extensions(), "jpg, jpeg, png, tif, tiff, bmp, webp, jp2, j2k, jpx, npy or dcm");
}

TEST(PairMatching, AnOmeTiffAndItsMaskMayDifferInTheOme) {
  const testing::TempFolder root;
  for (const char* name :
       {"images/a.ome.tif", "images/b.tif", "images/c.ome.tif", "masks/a.png", "masks/b_mask.ome.tif", "masks/c.ome.tif"})
    testing::write_bytes(root / name, {});
  const auto pairs = match_pairs(root / "images", root / "masks");
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].stem, "a.ome");
  EXPECT_EQ(pairs[0].mask.filename(), "a.png");
  EXPECT_EQ(pairs[1].mask.filename(), "b_mask.ome.tif");
  EXPECT_EQ(pairs[2].mask.filename(), "c.ome.tif");
}

}  // namespace
}  // namespace tessera
