#include "data/check/manifest.h"

#include <gtest/gtest.h>

#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::write_pair;

std::vector<std::string> ids(const Dataset& data) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < data.size(); ++i) all.push_back(data.id(i));
  return all;
}

// Writes the manifest of a split and opens the data set with the keys that go with it.
std::vector<std::string> reopened(const DataConfig& config, const fs::path& file, const std::string& bad) {
  Finding finding{.kind = FindingKind::kTruncated, .split = Split::kTrain, .samples = {}, .text = {}, .keys = {}};
  Survey survey{Split::kTrain, make_dataset(config, Split::kTrain), {}, {}};
  survey.samples.resize(static_cast<size_t>(survey.data->size()));
  for (int64_t i = 0; i < survey.data->size(); ++i) {
    if (survey.data->id(i) == bad) finding.samples.push_back({.index = i, .id = bad, .detail = "cut\noff"});
  }
  const std::string text = manifest_text(survey, {finding});
  EXPECT_NE(text.find("# left out: " + bad + ": truncated: cut\\x0aoff\n"), std::string::npos) << text;
  write_file(file, text);
  DataConfig again = config;
  for (const std::string& key : manifest_keys(config, Split::kTrain, file)) {
    const std::string name = key.substr(0, key.find('=')), value = key.substr(key.find('=') + 1);
    if (name == "data.train.images") again.train.images = value;
    if (name == "data.train.masks") again.train.masks = value;
    if (name == "data.train.list") again.train.list = value;
  }
  again.val_share = 0;
  return ids(*make_dataset(again, Split::kTrain));
}

TEST(Manifest, IsAListThatTrainingTakesWithoutTheBadOnes) {
  testing::TempFolder folder;
  for (const char* name : {"a", "b b", "day/c"}) write_pair(folder.path(), name);
  DataConfig config = testing::pairs_at(folder.path());
  config.val_share = 0;
  EXPECT_EQ(reopened(config, folder / "good.txt", "b b"), (std::vector<std::string>{"a", "day/c"}));
}

TEST(Manifest, NamesTheFoldersOfALayoutThatWasFound) {
  testing::TempFolder folder;
  for (const char* split : {"train", "val"}) {
    for (const char* name : {"a", "b"}) {
      testing::write_image(folder / fmt::format("images/{}/{}.png", split, name));
      testing::write_mask(folder / fmt::format("masks/{}/{}.png", split, name));
    }
  }
  const DataConfig config = testing::pairs_at(folder.path());
  const auto keys = manifest_keys(config, Split::kTrain, folder / "good.txt");
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[0], "data.train.images=images/train");
  EXPECT_EQ(keys[1], "data.train.masks=masks/train");
  EXPECT_EQ(reopened(config, folder / "good.txt", "b"), (std::vector<std::string>{"a"}));
}

}  // namespace
}  // namespace tessera
