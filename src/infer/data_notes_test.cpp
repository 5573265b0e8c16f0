#include "infer/data_notes.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/image.h"
#include "data/datasets/dataset_factory.h"
#include "metric/confusion_matrix.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::pairs_at;
using testing::TempFolder;

std::vector<std::string> notes(const DataConfig& config, int64_t batch_size) {
  return data_notes(*make_dataset(config, Split::kTrain), *make_dataset(config, Split::kVal), batch_size);
}

// Files of the same bytes would be noted as copies.
void write_distinct_pair(const std::filesystem::path& root, const std::string& name) {
  testing::write_image(root / "images" / (name + ".png"), {4, 6}, static_cast<uint8_t>(name[0]));
  testing::write_mask(root / "masks" / (name + ".png"));
}

TEST(DataNotes, ABatchOfMoreThanAllImagesSaysThatTheyRepeat) {
  TempFolder folder;
  for (const char* name : {"a", "b", "c", "d"}) write_distinct_pair(folder.path(), name);
  DataConfig config = pairs_at(folder.path());
  config.val_share = 0.25;
  EXPECT_TRUE(notes(config, 3).empty());
  ASSERT_EQ(notes(config, 4).size(), 1U);
  EXPECT_CONTAINS(notes(config, 4)[0], "train.batch_size=4 is more than the 3 training images: each comes 1 or 2 times");
  EXPECT_CONTAINS(notes(config, 9)[0], "each comes 3 times in a batch");
}

TEST(DataNotes, ValidationImagesThatAreTrainedOnAreNamed) {
  TempFolder folder;
  for (const char* name : {"a", "b", "c"}) write_distinct_pair(folder.path(), name);
  testing::write_image(folder / "other/images/b.png", {5, 6});  // of the same name, but another image
  testing::write_mask(folder / "other/masks/b.png", {5, 6});
  fs::create_directory_symlink(folder / "images", folder / "linked");
  DataConfig config = pairs_at(folder.path());
  config.train.count = 2;
  config.val.masks = "masks";
  for (const char* images : {"images", "linked", "other/../images"}) {
    config.val.images = images;
    ASSERT_EQ(notes(config, 1).size(), 1U) << images;
    EXPECT_CONTAINS(notes(config, 1)[0], "2 of 3 validation images are training images too (the first: a)");
  }
  config.val.images = "other/images";
  config.val.masks = "other/masks";
  EXPECT_TRUE(notes(config, 1).empty());
  fs::copy_file(folder / "images/a.png", folder / "other/images/b.png", fs::copy_options::overwrite_existing);
  ASSERT_EQ(notes(config, 1).size(), 1U);
  EXPECT_CONTAINS(notes(config, 1)[0],
                  "1 of 1 validation images are training images too (the first: b, the same bytes as a of train)");
}

TEST(DataNotes, ClassesWithoutALabelAreNamed) {
  const ClassTable classes{{"sky", "road", "car"}, {{}, {}, {}}};
  const auto said = [&](const std::vector<int64_t>& counts) { return unmeasured_classes(make_iou_report(counts, 3), classes); };
  EXPECT_EQ(said({1, 0, 0, 0, 1, 0, 0, 0, 1}), "");
  EXPECT_EQ(said({0, 0, 0, 0, 0, 0, 0, 0, 0}), "");
  EXPECT_CONTAINS(said({5, 1, 0, 0, 0, 0, 0, 0, 0}),
                  "2 of 3 classes have no labelled pixel in the images measured: road, car.");
}

TEST(DataNotes, FirstBatchesWithoutALabelAreToldOfOnce) {
  Batch batch;
  batch.labels = torch::full({4, 2, 2}, kIgnoreLabel, torch::kInt16);
  batch.indices = {0, 1, 2, 3};
  LabelWatch nothing(2), something(2);
  EXPECT_EQ(nothing.look(batch), "");
  EXPECT_CONTAINS(nothing.look(batch), "not one pixel of the first 8 training samples is labelled");
  EXPECT_EQ(nothing.look(batch), "");
  Batch labelled = batch;
  labelled.labels = batch.labels.clone();
  labelled.labels[3][1][1] = 0;
  EXPECT_EQ(something.look(labelled), "");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(something.look(batch), "");
}

}  // namespace
}  // namespace tessera
