#include "data/datasets/pair_list.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

void expect_same(const FilePair& a, const FilePair& b) {
  EXPECT_EQ(a.stem, b.stem);
  EXPECT_EQ(a.image, b.image);
  EXPECT_EQ(a.mask, b.mask);
  EXPECT_EQ(a.class_masks, b.class_masks);
}

TEST(PairList, GivesBackWhatWasPut) {
  const std::vector<FilePair> pairs = {{"a", "/d/images/a.png", "/d/masks/a_mask.png"},
                                       {"x/b", "/d/images/x/b.jpg", ""},
                                       {"c.ome", "/d/images/c.ome.tif", "/d/masks/c.png"},  // the mask is called otherwise
                                       {"", "/d/.png", "/d/m"},
                                       {"e", "/d/e.png", "", {"/m/cat/e.png", "", "/m/dog/e.png"}}};
  const PairList list(pairs);
  ASSERT_EQ(list.size(), pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    expect_same(list[i], pairs[i]);
    EXPECT_EQ(list.stem(i), pairs[i].stem);
  }
}

TEST(PairList, MoreFormsThanAreKeptCostMemoryOnly) {
  std::vector<FilePair> pairs;
  for (int i = 0; i < 10'000; ++i) {
    const std::string number = std::to_string(i);
    pairs.push_back({"s", "/d/" + number + "/s.png", "/e/s_" + number});
  }
  const PairList list(pairs);
  for (size_t i = 0; i < pairs.size(); ++i) expect_same(list[i], pairs[i]);
}

TEST(PairList, APairTakesLittleMoreThanItsStem) {
  std::vector<FilePair> pairs;
  for (int i = 0; i < 100'000; ++i) {
    const std::string stem = "part/" + std::to_string(100'000 + i);
    pairs.push_back({stem, "/a/long/way/to/images/" + stem + ".jpg", "/a/long/way/to/masks/" + stem + ".png"});
  }
  EXPECT_LE(PairList(pairs).bytes(), pairs.size() * (11 + 20));
}

}  // namespace
}  // namespace tessera
