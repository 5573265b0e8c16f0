#include "data/datasets/ade20k.h"

#include <gtest/gtest.h>

#include <set>

#include "data/datasets/ade20k_classes.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::message_of;

TEST(Ade20k, Has150DistinctNames) {
  const auto names = ade20k_names();
  EXPECT_EQ(names.size(), 150U);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 150U);
  EXPECT_EQ(names[0], "wall");
  EXPECT_EQ(names[149], "flag");
  EXPECT_EQ(ade20k_palette()[2], (Color{6, 230, 230}));
}

TEST(Ade20k, ValueOneIsClassZeroAndZeroIsIgnored) {
  testing::TempFolder folder;
  const auto root = folder / "ADEChallengeData2016";
  testing::write_image(root / "images/training/ADE_train_00000001.png");
  testing::write_mask(root / "annotations/training/ADE_train_00000001.png", {4, 6}, 150);
  DataConfig config;
  config.path = folder.path();
  const auto data = make_ade20k(config, Split::kTrain);
  ASSERT_EQ(data->size(), 1);
  const Sample sample = data->get(0);
  EXPECT_EQ(sample.labels->at(0, 0), kIgnoreLabel);
  EXPECT_EQ(sample.labels->at(0, 5), 149);
  EXPECT_EQ(data->classes().size(), 150);
  EXPECT_CONTAINS(message_of([&] { make_ade20k(config, Split::kVal); }), "images/validation; expected the layout");
}

TEST(Ade20k, ReadsTheRealThing) {
  TSR_NEED_DATA(root, "ade20k_sample");
  DataConfig config;
  config.path = root;
  const auto data = make_ade20k(config, Split::kVal);
  ASSERT_EQ(data->size(), 3);
  for (int64_t i = 0; i < 3; ++i) {
    const Sample sample = data->get(i);
    EXPECT_EQ(sample.image.channels, 3);
    EXPECT_EQ(sample.labels->size(), sample.image.size());
  }
  EXPECT_EQ(data->id(0), "ADE_val_00000001");
}

}  // namespace
}  // namespace tessera
