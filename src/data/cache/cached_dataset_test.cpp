#include "data/cache/cached_dataset.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/files.h"
#include "data/datasets/dataset_factory.h"
#include "data/decode/png_writer.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;

Image noise(int height, int width, int channels, unsigned seed) {
  Image image(height, width, channels);
  for (uint8_t& value : image.bytes()) value = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  return image;
}

// Four pairs of images and masks, and where the cache of them is.
struct Pairs {
  testing::TempFolder folder;
  DataConfig config;

  explicit Pairs(SampleCacheKind kind) {
    for (const char* part : {"data/images", "data/masks"}) make_folders(folder / part);
    for (unsigned i = 0; i < 4; ++i) write(i, i);
    config.path = (folder / "data").string();
    config.classes = {"a", "b"};
    config.labels.binary = true;
    config.val_share = 0;
    config.cache = kind;
    config.cache_dir = (folder / "cache").string();
    config.cache_limit = "64MB";
  }
  void write(unsigned number, unsigned seed) const {
    const std::string name = std::to_string(number) + ".png";
    const int height = 20 + static_cast<int>(number);
    write_file(folder / ("data/images/" + name), encode_png(noise(height, 30, 3, seed)));
    Image mask = noise(height, 30, 1, seed + 100);
    for (uint8_t& value : mask.bytes()) value = value > 128 ? 255 : 0;
    write_file(folder / ("data/masks/" + name), encode_png(mask));
  }
  DatasetPtr open(bool cached = true) const {
    DatasetPtr set = make_dataset(config, Split::kTrain);
    return cached ? with_cache(std::move(set), config) : set;
  }
};

void expect_same(const Sample& a, const Sample& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.image.size(), b.image.size());
  EXPECT_EQ(a.image.channels, b.image.channels);
  EXPECT_EQ(a.image.max_value, b.image.max_value);
  EXPECT_EQ(a.image.pixels, b.image.pixels);
  ASSERT_EQ(a.labels.has_value(), b.labels.has_value());
  EXPECT_TRUE(!a.labels || (a.labels->labels == b.labels->labels && a.labels->size() == b.labels->size()));
  EXPECT_EQ(a.placement.original, b.placement.original);
  EXPECT_EQ(a.placement.height, b.placement.height);
  EXPECT_EQ(a.placement.complete, b.placement.complete);
}

class CachedDatasets : public ::testing::TestWithParam<SampleCacheKind> {};

TEST_P(CachedDatasets, GiveTheSameBitsEveryTime) {
  const Pairs pairs(GetParam());
  const DatasetPtr plain = pairs.open(false);
  for (int round = 0; round < 3; ++round) {  // a round of its own process: the second reads what the first kept
    const DatasetPtr cached = pairs.open();
    ASSERT_NE(dynamic_cast<const CachedDataset*>(cached.get()), nullptr);
    for (int64_t i = 0; i < plain->size(); ++i) {
      expect_same(cached->get(i), plain->get(i));
      expect_same(cached->get(i), plain->get(i));
    }
  }
}

TEST_P(CachedDatasets, AreReadFromTheCache) {
  const Pairs pairs(GetParam());
  const DatasetPtr set = make_dataset(pairs.config, Split::kTrain);
  const auto store = std::make_shared<SampleStore>(pairs.config.cache_dir, 64 << 20, 0);
  const CachedDataset cached(set, GetParam(), store, "as now");
  for (int64_t i = 0; i < 4; ++i) cached.get(i);
  EXPECT_EQ(store->hits(), 0);
  for (int64_t i = 0; i < 4; ++i) cached.get(i);
  EXPECT_EQ(store->hits(), 4);
  const CachedDataset otherwise(set, GetParam(), store, "otherwise");
  otherwise.get(0);
  EXPECT_EQ(store->hits(), GetParam() == SampleCacheKind::kDecoded ? 4 : 5) << "files are the same however they are decoded";
}

TEST_P(CachedDatasets, SeeThatAFileHasChanged) {
  const Pairs pairs(GetParam());
  const DatasetPtr cached = pairs.open();
  const Sample before = cached->get(1);
  pairs.write(1, 77);
  const Sample after = cached->get(1);
  EXPECT_NE(before.image.pixels, after.image.pixels);
  expect_same(after, pairs.open(false)->get(1));
  // Of the same size, and with the time set back.
  const fs::path image = pairs.folder / "data/images/1.png";
  const auto time = fs::last_write_time(image);
  std::vector<uint8_t> bytes = read_bytes(image);
  pairs.write(1, 78);
  if (fs::file_size(image) == bytes.size()) fs::last_write_time(image, time);
  expect_same(cached->get(1), pairs.open(false)->get(1));
}

TEST_P(CachedDatasets, DoNotKeepBadSamples) {
  const Pairs pairs(GetParam());
  const DatasetPtr cached = pairs.open();
  const fs::path image = pairs.folder / "data/images/2.png";
  const std::vector<uint8_t> whole = read_bytes(image);
  write_file(image, std::span(whole).first(whole.size() / 2));
  for (int i = 0; i < 2; ++i) EXPECT_NE(message_of<BadSample>([&] { cached->get(2); }), "");
  write_file(image, whole);
  expect_same(cached->get(2), pairs.open(false)->get(2));
  fs::remove(image);
  EXPECT_NE(message_of<BadSample>([&] { cached->get(2); }), "");
}

// Jobs that fill one cache together, of which some are killed in the middle.
TEST_P(CachedDatasets, AreTheSameInProcessesAtOnceAndAfterKills) {
  const Pairs pairs(GetParam());
  const DatasetPtr plain = pairs.open(false);
  const auto start = [&](bool forever) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    const DatasetPtr cached = pairs.open();
    bool same = true;
    for (int round = 0; round < 20 || forever; ++round) {
      for (int64_t i = 0; i < 4; ++i)
        same = same && cached->get((i + round) % 4).image.pixels == plain->get((i + round) % 4).image.pixels;
    }
    ::_exit(same ? 0 : 1);
  };
  for (int i = 0; i < 5; ++i) {
    const pid_t killed = start(true), one = start(false), other = start(false);
    ::usleep(static_cast<useconds_t>(3000 * i));
    ::kill(killed, SIGKILL);
    ::waitpid(killed, nullptr, 0);
    for (const pid_t child : {one, other}) {
      int status = -1;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    pairs.write(static_cast<unsigned>(i % 4), static_cast<unsigned>(50 + i));  // something new to keep in the next round
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CachedDatasets, ::testing::Values(SampleCacheKind::kEncoded, SampleCacheKind::kDecoded));

TEST(CachedDataset, EncodedFilesAreTheSame) {
  const Pairs pairs(SampleCacheKind::kEncoded);
  const DatasetPtr plain = pairs.open(false), cached = pairs.open();
  for (int round = 0; round < 2; ++round) {
    const EncodedSample a = plain->encoded(3).value(), b = cached->encoded(3).value();
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.image_name, b.image_name);
    EXPECT_EQ(a.labels_name, b.labels_name);
    EXPECT_TRUE(std::ranges::equal(a.image.bytes, b.image.bytes) && std::ranges::equal(a.labels.bytes, b.labels.bytes));
  }
}

TEST(CachedDataset, WhatCannotBeToldApartIsNotCached) {
  DataConfig config;
  config.type = SourceType::kSynthetic;
  config.cache = SampleCacheKind::kDecoded;
  config.cache_dir = "/nowhere/that/can/be";
  const DatasetPtr set = make_dataset(config, Split::kTrain);
  EXPECT_EQ(with_cache(set, config), set);
}

TEST(CachedDataset, ALimitThatIsNoneIsAUsageError) {
  Pairs pairs(SampleCacheKind::kDecoded);
  pairs.config.cache_limit = "much";
  EXPECT_CONTAINS(message_of<UsageError>([&] { pairs.open(); }), "data.cache_limit=much");
}

}  // namespace
}  // namespace tessera
