#include "data/records/indexed_shards.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/files.h"
#include "data/records/tar_format.h"
#include "data/records/tar_writer.h"
#include "data/records/tfrecord_format.h"
#include "data/records/tfrecord_writer.h"
#include "data/sample.h"
#include "storage/compression.h"
#include "support/cache_folder.h"
#include "support/encoded_samples.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::encoded_sample;
using testing::text_of;

std::vector<uint8_t> shard_of(const std::vector<std::string>& ids) {
  TfRecordWriter writer;
  for (const std::string& id : ids) writer.add(encoded_sample(id, "image of " + id, "mask of " + id));
  return writer.finish();
}

// Counts what is opened.
class CountingStore : public FileStore {
 public:
  explicit CountingStore(const fs::path& root) : inner_(open_file_store(root.string())) {}
  Blob open(const std::string& name, const FileSum& sum) override {
    ++opened;
    return inner_->open(name, sum);
  }
  void will_need(const std::vector<std::string>& names) override { needed = names; }
  std::vector<std::string> list(const std::string& prefix) override { return inner_->list(prefix); }
  std::string root() const override { return url.empty() ? inner_->root() : url; }

  std::string url;  // as which it poses
  std::atomic<int> opened = 0;
  std::vector<std::string> needed;

 private:
  std::shared_ptr<FileStore> inner_;
};

class IndexedShardsTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::vector<uint8_t>& bytes) {
    write_file(folder_ / name, std::span<const uint8_t>(bytes));
  }
  std::shared_ptr<IndexedShards> open(std::vector<std::string> files, const std::string& url = "") {
    store_ = std::make_shared<CountingStore>(folder_.path());
    store_->url = url;
    return std::make_shared<IndexedShards>(store_, std::move(files), std::make_unique<TfRecordFormat>(FeatureNames{}));
  }

  testing::OwnCache cache_;
  testing::TempFolder folder_;
  std::shared_ptr<CountingStore> store_;
};

TEST_F(IndexedShardsTest, SamplesComeInTheOrderOfTheShards) {
  write("0.tfrecord", shard_of({"a", "b"}));
  write("1.tfrecord", {});
  write("2.tfrecord.gz", compress(parse_compression("gz"), shard_of({"c", "a", "../up"})));
  const auto shards = open({"0.tfrecord", "1.tfrecord", "2.tfrecord.gz"});
  ASSERT_EQ(shards->size(), 5);
  EXPECT_EQ(shards->shard_starts(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(shards->id(1), "b");
  EXPECT_EQ(shards->id(2), "c");
  EXPECT_EQ(shards->id(3), "2.tfrecord.gz#1");  // a was there before
  EXPECT_EQ(shards->id(4), "2.tfrecord.gz#2");  // what is called after it would lie elsewhere
  EXPECT_EQ(text_of(shards->read(3).image), "image of a");
  EXPECT_EQ(text_of(shards->read(4).labels), "mask of ../up");
  EXPECT_EQ(shards->read(4).id, "2.tfrecord.gz#2");
  shards->will_need({4, 3, 0});
  EXPECT_EQ(store_->needed, (std::vector<std::string>{"2.tfrecord.gz", "0.tfrecord"}));
}

TEST_F(IndexedShardsTest, TheSecondTimeNothingIsLookedThrough) {
  write("0.tfrecord", shard_of({"a", "b"}));
  write("1.tfrecord", shard_of({"c"}));
  open({"0.tfrecord", "1.tfrecord"});
  EXPECT_EQ(store_->opened, 2);
  const auto again = open({"0.tfrecord", "1.tfrecord"});
  EXPECT_EQ(store_->opened, 0);
  EXPECT_EQ(again->id(2), "c");
  EXPECT_EQ(text_of(again->read(2).image), "image of c");
  write("1.tfrecord", shard_of({"d", "e"}));
  const auto changed = open({"0.tfrecord", "1.tfrecord"});
  EXPECT_EQ(store_->opened, 1);
  EXPECT_EQ(changed->id(3), "e");
}

TEST_F(IndexedShardsTest, AShardThatChangesMeanwhileIsAnError) {
  write("0.tfrecord", shard_of({"a"}));
  const auto shards = open({"0.tfrecord"});
  write("0.tfrecord", shard_of({"a", "b"}));
  EXPECT_CONTAINS(testing::message_of([&] { shards->read(0); }), "has changed since it was looked through");
}

TEST_F(IndexedShardsTest, AShardBehindAUrlThatChangedIsLookedThroughTheNextTime) {
  write("0.tfrecord", shard_of({"a"}));
  open({"0.tfrecord"}, "far://bucket");
  write("0.tfrecord", shard_of({"a", "b"}));
  const auto stale = open({"0.tfrecord"}, "far://bucket");
  EXPECT_EQ(store_->opened, 0);
  EXPECT_CONTAINS(testing::message_of([&] { stale->read(0); }), "far://bucket/0.tfrecord has changed");
  EXPECT_EQ(open({"0.tfrecord"}, "far://bucket")->size(), 2);
}

TEST_F(IndexedShardsTest, ThreadsReadAllShardsAndEachIsOpenedOnce) {
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) {
    names.push_back(fmt::format("{}.tfrecord", i));
    write(names.back(), shard_of({fmt::format("{}-0", i), fmt::format("{}-1", i)}));
  }
  open(names);
  const auto shards = open(names);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < shards->size(); ++i) EXPECT_EQ(text_of(shards->read(i).image), "image of " + shards->id(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->opened, 8);
}

TEST_F(IndexedShardsTest, FilesOfOtherEndingsAreNamed) {
  TarWriter writer("rgb.jpg", "classes.bin");
  writer.add(encoded_sample("a", "image", "mask"));
  write("0.tar", writer.finish());
  const auto open_tar = [&] {
    IndexedShards(open_file_store(folder_.path().string()), {"0.tar"},
                  std::make_unique<TarFormat>(MemberNames{.image = {"png"}, .labels = {"tif"}}));
  };
  EXPECT_CONTAINS(testing::message_of(open_tar), "0.tar end in rgb.jpg, classes.bin: set data.records.image");
}

TEST_F(IndexedShardsTest, ShardsThatCannotBeReadAreNamed) {
  std::vector<uint8_t> cut = shard_of({"a", "b"});
  cut.resize(cut.size() - 3);
  write("0.tfrecord", cut);
  EXPECT_CONTAINS(testing::message_of([&] { open({"0.tfrecord"}); }), "0.tfrecord is truncated: record 1");
  write("empty.tfrecord", {});
  EXPECT_CONTAINS(testing::message_of([&] { open({"empty.tfrecord"}); }), "there are no samples");
}

}  // namespace
}  // namespace tessera
