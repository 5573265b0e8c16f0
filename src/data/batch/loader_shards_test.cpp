// Training from shards: the same batches as from the files that went into them, and in an order of shards whatever reads them.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "data/batch/loader.h"
#include "data/convert/convert.h"
#include "data/datasets/dataset_factory.h"
#include "data/transforms/make_pipeline.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::TempFolder;

constexpr int kSamples = 40;

// Pictures and masks that differ from pixel to pixel.
DataConfig made_pairs(const TempFolder& root) {
  for (int i = 0; i < kSamples; ++i) {
    Image image(20, 24 + i % 3, 3);
    LabelMap labels(20, 24 + i % 3);
    Rng rng(static_cast<uint64_t>(i), Stream::kSynthetic);
    for (uint8_t& value : image.bytes()) value = static_cast<uint8_t>(rng.bits());
    for (int16_t& label : labels.labels) label = static_cast<int16_t>(rng.below(2));
    testing::write_bytes(root / fmt::format("images/s{:02}.png", i), encode_png(image));
    testing::write_bytes(root / fmt::format("masks/s{:02}.png", i), encode_png_labels(labels));
  }
  DataConfig config = testing::pairs_at(root.path());
  config.val_share = 0.1;
  return config;
}

DataConfig converted(const DataConfig& pairs, const fs::path& to) {
  const std::vector<OpenSplit> splits = {{Split::kTrain, make_dataset(pairs, Split::kTrain)}};
  convert(pairs, splits, to, {{.format = "mds", .shard_bytes = 12'000}, 1}, [](int64_t) {});
  DataConfig config;
  config.type = SourceType::kMds;
  config.path = to;
  config.val_share = 0;
  return config;
}

std::vector<Batch> batches_of(const Dataset& data, int64_t first, int64_t count, int threads = 2,
                              const std::vector<int64_t>& positions = {}) {
  const Pipeline pipeline = make_pipeline({RandomCropConfig{.size = {16, 16}}, FlipConfig{}, PhotometricConfig{}});
  Quarantine quarantine(data.size(), 0.2);
  LoaderOptions options{.batch_size = 8, .seed = 5, .positions = positions, .threads = threads, .prefetch = 2};
  Loader loader(data, pipeline, quarantine, options, first);
  std::vector<Batch> batches;
  for (int64_t i = 0; i < count; ++i) batches.push_back(loader.next());
  return batches;
}

void expect_same(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].indices, b[i].indices);
    EXPECT_EQ(a[i].draws, b[i].draws);
    EXPECT_TRUE(a[i].images.equal(b[i].images));
    EXPECT_TRUE(a[i].labels.equal(b[i].labels));
  }
}

TEST(LoaderShards, BatchesAreThoseOfTheFilesThatWentIn) {
  const TempFolder from, to;
  const DataConfig pairs = made_pairs(from), shards = converted(pairs, to / "mds");
  const DatasetPtr files = make_dataset(pairs, Split::kTrain), records = make_dataset(shards, Split::kTrain);
  EXPECT_GT(records->shards().starts.size(), 3U);
  expect_same(batches_of(*files, 0, 12), batches_of(*records, 0, 12));
}

TEST(LoaderShards, TheOrderOfShardsIsTheSameForAnyRanksThreadsAndRestarts) {
  const TempFolder from, to;
  DataConfig shards = converted(made_pairs(from), to / "mds");
  shards.records.shuffle_block = 10;
  const DatasetPtr data = make_dataset(shards, Split::kTrain);
  const std::vector<Batch> all = batches_of(*data, 0, 12);
  const std::vector<Batch> later = batches_of(*data, 7, 5, 4);
  for (size_t i = 0; i < 5; ++i) expect_same({later[i]}, {all[7 + i]});
  const std::vector<Batch> even = batches_of(*data, 0, 12, 1, {0, 2, 4, 6});
  for (size_t i = 0; i < 12; ++i) {
    for (int64_t k = 0; k < 4; ++k) EXPECT_TRUE(even[i].images[k].equal(all[i].images[2 * k]));
  }
  // Few shards at a time: those of two blocks at most.
  const std::vector<int64_t> starts = data->shards().starts;
  std::set<int64_t> of_first_batch;
  for (const int64_t index : all[0].indices)
    of_first_batch.insert(std::upper_bound(starts.begin(), starts.end(), index) - starts.begin());
  EXPECT_LT(of_first_batch.size(), starts.size() / 2 + 1);
}

// Notes what it is told.
class Told : public Dataset {
 public:
  explicit Told(DatasetPtr data) : data_(std::move(data)) {}
  int64_t size() const override { return data_->size(); }
  Sample get(int64_t index) const override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(told_.count(index) == 1) << index;
    return data_->get(index);
  }
  std::string id(int64_t index) const override { return data_->id(index); }
  const ClassTable& classes() const override { return data_->classes(); }
  ShardReading shards() const override {
    ShardReading shards = data_->shards();
    shards.ahead = 12;
    return shards;
  }
  void will_need(const std::vector<int64_t>& indices) const override {
    const std::lock_guard lock(mutex_);
    told_.insert(indices.begin(), indices.end());
    longest_ = std::max(longest_, indices.size());
  }
  size_t longest() const { return longest_; }

 private:
  DatasetPtr data_;
  mutable std::mutex mutex_;
  mutable std::set<int64_t> told_;
  mutable size_t longest_ = 0;
};

TEST(LoaderShards, WhatIsReadSoonIsAskedForBefore) {
  const TempFolder from, to;
  const Told data(make_dataset(converted(made_pairs(from), to / "mds"), Split::kTrain));
  EXPECT_EQ(batches_of(data, 3, 8, 1).size(), 8U);
  EXPECT_EQ(data.longest(), 8U * 3);  // a batch and two more hold 12 samples ahead
}

}  // namespace
}  // namespace tessera
