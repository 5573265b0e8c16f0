#include "data/check/finding_pictures.h"

#include <gtest/gtest.h>

#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

TEST(FindingPictures, ShowImageMaskAndWhatIsWrong) {
  testing::TempFolder folder;
  testing::write_pair(folder.path(), "good", {40, 60});
  testing::write_image(folder / "images/odd.png", {40, 60});
  testing::write_mask(folder / "masks/odd.png", {40, 60}, 9);
  DataConfig config = testing::pairs_at(folder.path());
  config.val_share = 0;
  std::vector<Survey> surveys;
  surveys.push_back(survey_split(Split::kTrain, make_dataset(config, Split::kTrain), 1, {}));
  const CheckInput input{surveys, config};
  const std::vector<Finding> findings = find_faults(input);
  ASSERT_EQ(findings.at(0).kind, FindingKind::kLabelOutOfRange);
  const auto pictures = draw_finding(input, findings[0], findings[0].samples.at(0));
  ASSERT_EQ(pictures.size(), 4U);
  EXPECT_EQ(pictures[0].label, "image, 40 x 60");
  EXPECT_EQ(pictures[1].label, "mask, 40 x 60");
  // The right half is marked: 9 has no class.
  const Image& marked = pictures[2].picture;
  EXPECT_EQ(marked.size(), (Size{80, 120}));
  const auto pixel = [&](int y, int x) { return &marked.bytes()[static_cast<size_t>((y * marked.width + x) * 3)]; };
  EXPECT_EQ(pixel(5, 100)[0], 255);
  EXPECT_EQ(pixel(5, 100)[2], 144);
  EXPECT_LT(pixel(5, 10)[0], 130);
}

TEST(FindingPictures, OfWhatCannotBeReadThereAreNone) {
  testing::TempFolder folder;
  testing::write_pair(folder.path(), "good");
  testing::write_mask(folder / "masks/odd.png");
  write_file(folder / "images/odd.png", std::string_view("<html>"));
  DataConfig config = testing::pairs_at(folder.path());
  config.val_share = 0;
  std::vector<Survey> surveys;
  surveys.push_back(survey_split(Split::kTrain, make_dataset(config, Split::kTrain), 1, {}));
  const CheckInput input{surveys, config};
  const std::vector<Finding> findings = find_faults(input);
  ASSERT_EQ(findings.at(0).kind, FindingKind::kWebPage);
  const auto pictures = draw_finding(input, findings[0], findings[0].samples.at(0));
  ASSERT_EQ(pictures.size(), 1U);
  EXPECT_EQ(pictures[0].label, "mask, 4 x 6");
}

}  // namespace
}  // namespace tessera
