#include "data/datasets/data_line.h"

#include <gtest/gtest.h>

#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::write_image;
using testing::write_mask;

class DataLine : public ::testing::Test {
 protected:
  void pairs(const std::string& part, int count) {
    for (int i = 0; i < count; ++i) {
      write_image(folder_ / fmt::format("images/{}/{}.png", part, i));
      write_mask(folder_ / fmt::format("masks/{}/{}.png", part, i));
    }
  }
  // What is logged where train and val are used.
  std::string said() {
    std::vector<OpenSplit> open;
    for (const Split split : {Split::kTrain, Split::kVal}) open.push_back({split, make_dataset(config_, split)});
    ::testing::internal::CaptureStderr();
    announce_data(config_, open);
    return ::testing::internal::GetCapturedStderr();
  }
  testing::TempFolder folder_;
  DataConfig config_ = testing::pairs_at(folder_.path());
};

TEST_F(DataLine, SaysWhatWasTakenAsWhat) {
  pairs("train", 3);
  pairs("val", 2);
  pairs("test", 1);
  EXPECT_CONTAINS(said(), "data: 3 train (images/train), 2 val (images/val), 1 test (images/test, not trained on)\n");
  fs::remove_all(folder_ / "masks/test");
  EXPECT_CONTAINS(said(), "1 test (images/test, no masks, not trained on)\n");
}

TEST_F(DataLine, SaysWhatIsHeldOut) {
  pairs("", 10);
  EXPECT_CONTAINS(said(), "data: 8 train (images), 2 val (held out: 2 of 10 by name, data.val_share=0.2)\n");
  config_.train.count = 5;
  EXPECT_CONTAINS(said(), "data: 5 train (images, the first 5 of 8), 2 val");
}

TEST_F(DataLine, ASplitByItself) {
  pairs("train", 3);
  pairs("val", 2);
  EXPECT_EQ(data_line({{Split::kVal, make_dataset(config_, Split::kVal)}}), "2 val (images/val)");
}

// Before, train and val each warned of the folder that they share.
TEST_F(DataLine, WarningsComeOnce) {
  pairs("", 4);
  write_mask(folder_ / "masks/lonely.png");
  const std::string text = said();
  const size_t first = text.find("have no image");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("have no image", first + 1), std::string::npos);
}

TEST_F(DataLine, ABrokenTestSplitStopsNoTraining) {
  pairs("train", 3);
  pairs("val", 2);
  fs::create_directories(folder_ / "images/test");
  EXPECT_CONTAINS(said(), "the test split cannot be opened: no images below");
}

}  // namespace
}  // namespace tessera
