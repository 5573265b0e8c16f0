#include "data/datasets/shared_files.h"

#include <gtest/gtest.h>

#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

class SharedFilesTest : public ::testing::Test {
 protected:
  SharedFilesTest() : config_(testing::pairs_at(folder_.path())) {
    config_.train.images = "images/a";
    config_.train.masks = "masks/a";
    config_.val.images = "images/b";
    config_.val.masks = "masks/b";
  }
  // Noise, so that all files have one size but not the same bytes.
  void pair(const std::string& stem, uint32_t seed) {
    Image image(16, 16, 3);
    for (uint8_t& value : image.bytes()) value = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
    testing::write_bytes(folder_ / ("images/" + stem + ".png"), encode_png(image));
    testing::write_mask(folder_ / ("masks/" + stem + ".png"), {16, 16});
  }
  std::vector<SharedFile> shared(int64_t max_files = 100) {
    return shared_files(*make_dataset(config_, Split::kTrain), *make_dataset(config_, Split::kVal), max_files);
  }
  testing::TempFolder folder_;
  DataConfig config_;
};

TEST_F(SharedFilesTest, CopiesAreFoundUnderOtherNames) {
  pair("a/one", 1);
  pair("a/two", 2);
  pair("b/three", 3);
  ASSERT_EQ(fs::file_size(folder_ / "images/a/one.png"), fs::file_size(folder_ / "images/b/three.png"));
  EXPECT_TRUE(shared().empty());
  pair("b/four", 2);
  ASSERT_EQ(shared().size(), 1U);
  EXPECT_EQ(shared()[0].train, "two");
  EXPECT_EQ(shared()[0].val, "four");
  EXPECT_TRUE(shared()[0].copied);
  EXPECT_TRUE(shared(0).empty());  // no file may be opened
}

TEST_F(SharedFilesTest, OneFileInBothIsNoCopy) {
  pair("a/one", 1);
  config_.val.images = "images/a";
  config_.val.masks = "masks/a";
  ASSERT_EQ(shared(0).size(), 1U);
  EXPECT_FALSE(shared(0)[0].copied);
}

// The middle of the file is compared first; what differs elsewhere must not pass for a copy.
TEST_F(SharedFilesTest, FilesThatDifferInOneByteAreNotTheSame) {
  pair("a/one", 1);
  pair("b/one", 1);
  ASSERT_EQ(shared().size(), 1U);
  std::vector<uint8_t> bytes(10000, 7);
  testing::write_bytes(folder_ / "images/a/one.png", bytes);
  bytes.back() = 8;
  testing::write_bytes(folder_ / "images/b/one.png", bytes);
  EXPECT_TRUE(shared().empty());
}

}  // namespace
}  // namespace tessera
