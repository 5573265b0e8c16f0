#include "data/datasets/open_records.h"

#include <gtest/gtest.h>

#include <set>

#include "core/files.h"
#include "data/datasets/dataset_factory.h"
#include "data/records/mds_shard.h"
#include "support/fixtures.h"
#include "support/image_files.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::TempFolder;

// MDS shards of five samples each, called NAME0, NAME1, ...
void write_shards(const fs::path& folder, const std::string& name, int samples) {
  const MdsColumns columns = {{"uid", "str", 0}, {"x", "png", 0}, {"y", "png", 0}};
  std::vector<MdsShard> index;
  make_folders(folder);
  for (int first = 0; first < samples; first += 5) {
    MdsShardBuilder builder(columns, {});
    for (int i = first; i < std::min(first + 5, samples); ++i) {
      const std::string id = name + std::to_string(i);
      const std::vector<uint8_t> image = encode_png(Image(3, 4, 3)), mask = encode_png_labels(LabelMap(3, 4, 1));
      const std::vector<std::span<const uint8_t>> values = {
          {reinterpret_cast<const uint8_t*>(id.data()), id.size()}, image, mask};
      builder.add(values);
    }
    const std::vector<uint8_t> raw = builder.finish();
    const std::string file = fmt::format("shard.{:05}.mds", index.size());
    write_file(folder / file, std::span(raw));
    index.push_back({std::make_shared<const MdsColumns>(columns), {}, builder.samples(), {file, raw.size(), {}}, std::nullopt});
  }
  write_file(folder / "index.json", mds_index_text(index));
}

DataConfig mds_at(const fs::path& path) {
  DataConfig config;
  config.type = SourceType::kMds;
  config.path = path;
  config.classes = {"a", "b"};
  return config;
}

std::vector<std::string> ids(const DatasetPtr& data) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < data->size(); ++i) all.push_back(data->id(i));
  return all;
}

TEST(OpenRecords, SplitsAreFoldersOrPathsOfTheirOwn) {
  const TempFolder root;
  write_shards(root / "training", "t", 7);
  write_shards(root / "validation", "v", 2);
  const DataConfig config = mds_at(root.path());
  EXPECT_EQ(ids(make_dataset(config, Split::kTrain)), (std::vector<std::string>{"t0", "t1", "t2", "t3", "t4", "t5", "t6"}));
  EXPECT_EQ(ids(make_dataset(config, Split::kVal)), (std::vector<std::string>{"v0", "v1"}));
  EXPECT_EQ(make_test_set(config), nullptr);

  DataConfig own = config;
  own.train.path = root / "validation";
  own.test.path = root / "training";
  own.test.count = 3;
  EXPECT_EQ(ids(make_dataset(own, Split::kTrain)), (std::vector<std::string>{"v0", "v1"}));
  EXPECT_EQ(ids(make_test_set(own)), (std::vector<std::string>{"t0", "t1", "t2"}));

  DataConfig alone = mds_at(root / "training");
  alone.val_share = 0;
  EXPECT_EQ(make_dataset(alone, Split::kTrain)->size(), 7);
}

TEST(OpenRecords, WithoutValAShareOfTrainIsHeldOut) {
  const TempFolder root;
  write_shards(root / "train", "t", 20);
  DataConfig config = mds_at(root.path());
  config.val_share = 0.25;
  const DatasetPtr train = make_dataset(config, Split::kTrain), val = make_dataset(config, Split::kVal);
  EXPECT_EQ(train->size(), 15);
  EXPECT_EQ(val->size(), 5);
  std::set<std::string> all;
  for (const DatasetPtr& part : {train, val}) {
    for (const std::string& id : ids(part)) all.insert(id);
  }
  EXPECT_EQ(all.size(), 20U);
  // Shards begin where their first samples that are left lie.
  const std::vector<int64_t> starts = train->shards().starts;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto number = [&](int64_t index) { return std::stoi(train->id(index).substr(1)) / 5; };
    if (i > 0) {
      EXPECT_NE(number(starts[i]), number(starts[i] - 1));
    }
  }
}

TEST(OpenRecords, WhatIsMissingIsNamed) {
  const TempFolder root;
  write_shards(root / "val", "v", 2);
  DataConfig config = mds_at(root.path());
  EXPECT_CONTAINS(message_of([&] { make_dataset(config, Split::kTrain); }), "set data.train.path");
  config.train.list = "list.txt";
  EXPECT_CONTAINS(message_of<UsageError>([&] { make_dataset(config, Split::kTrain); }), "have no effect for type mds");
  config.classes = {};
  EXPECT_CONTAINS(message_of<UsageError>([&] { make_dataset(config, Split::kVal); }), "set data.classes");
  config.path = "";
  EXPECT_CONTAINS(message_of<UsageError>([&] { make_dataset(config, Split::kVal); }), "data.path is not set");
}

TEST(OpenRecords, AFolderSaysItselfWhatItHolds) {
  const TempFolder root;
  EXPECT_TRUE(record_keys(root.path()).empty());
  write_shards(root / "train", "t", 2);
  EXPECT_EQ(record_keys(root.path()), (std::vector<std::string>{"data.type=mds", "data.classes=[]"}));
  EXPECT_EQ(record_keys(root / "train").at(0), "data.type=mds");
  write_file(root / "tessera.yaml", std::string_view("type: tar\n"));
  EXPECT_EQ(record_keys(root.path()).at(0), "data.type=tar");
}

// The values of masks mean what the card says, and what the config says where it says something.
TEST(OpenRecords, TheCardSaysWhatMasksMean) {
  const TempFolder root;
  write_shards(root / "train", "t", 2);
  write_shards(root / "val", "t", 2);
  write_file(root / "tessera.yaml", std::string_view("classes: [first, second, third]\nlabels: {map: {1: 2}}\n"));
  DataConfig config = mds_at(root.path());
  config.classes = {};
  EXPECT_EQ(make_dataset(config, Split::kVal)->classes().names, (std::vector<std::string>{"first", "second", "third"}));
  EXPECT_EQ(make_dataset(config, Split::kVal)->get(0).labels->at(0, 0), 2);
  config.labels.offset = -1;
  config.classes = {"own"};
  EXPECT_EQ(make_dataset(config, Split::kVal)->get(0).labels->at(0, 0), 0);
}

}  // namespace
}  // namespace tessera
