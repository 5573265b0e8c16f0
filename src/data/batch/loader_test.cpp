#include "data/batch/loader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "config/data_config.h"
#include "data/transforms/make_pipeline.h"
#include "support/messages.h"

namespace tessera {
namespace {

// Image i is 6 x 6 filled with i; some samples are broken.
class NumberedDataset : public Dataset {
 public:
  NumberedDataset(int64_t size, std::vector<int64_t> bad)
      : size_(size), bad_(std::move(bad)), classes_{{"a", "b"}, {{0, 0, 0}, {9, 9, 9}}} {}
  int64_t size() const override { return size_; }
  std::string id(int64_t index) const override { return "n" + std::to_string(index); }
  const ClassTable& classes() const override { return classes_; }
  Sample get(int64_t index) const override {
    if (std::find(bad_.begin(), bad_.end(), index) != bad_.end()) throw BadSample(id(index), "broken on purpose");
    Sample sample{id(index), Image(6, 6, 1), LabelMap(6, 6), {}};
    std::fill(sample.image.bytes().begin(), sample.image.bytes().end(), static_cast<uint8_t>(index));
    return sample;
  }

 private:
  int64_t size_;
  std::vector<int64_t> bad_;
  ClassTable classes_;
};

struct Collected {
  std::vector<Batch> batches;
  int64_t bad = 0;
};

Collected collect(const Dataset& data, int threads, int64_t first, int64_t count,
                  const std::vector<TransformConfig>& transforms = {}, int64_t batch_size = 4) {
  const Pipeline pipeline = make_pipeline(transforms);
  Quarantine quarantine(data.size(), 0.2);
  Loader loader(data, pipeline, quarantine, {.batch_size = batch_size, .seed = 5, .threads = threads, .prefetch = 2}, first);
  Collected run;
  for (int64_t i = 0; i < count; ++i) run.batches.push_back(loader.next());
  run.bad = quarantine.count();
  return run;
}

void expect_same(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.indices, b.indices);
  EXPECT_EQ(a.draws, b.draws);
  EXPECT_TRUE(a.images.equal(b.images));
  EXPECT_TRUE(a.labels.equal(b.labels));
}

TEST(Loader, BatchesDependNeitherOnThreadsNorOnWhereOneStarts) {
  const NumberedDataset data(21, {3, 11});
  const std::vector<TransformConfig> transforms{RandomCropConfig{.size = {4, 4}}, FlipConfig{}, PhotometricConfig{}};
  const Collected one = collect(data, 1, 0, 14, transforms), four = collect(data, 4, 0, 14, transforms),
                  later = collect(data, 3, 9, 5, transforms);
  for (size_t i = 0; i < 14; ++i) expect_same(one.batches[i], four.batches[i]);
  for (size_t i = 0; i < 5; ++i) expect_same(one.batches[9 + i], later.batches[i]);
}

// Counts what was asked of it.
class CountedDataset : public NumberedDataset {
 public:
  using NumberedDataset::NumberedDataset;
  Sample get(int64_t index) const override {
    ++asked;
    return NumberedDataset::get(index);
  }
  mutable std::atomic<int64_t> asked = 0;
};

TEST(Loader, HoldsAsManyBatchesAsThereIsMemoryFor) {
  constexpr int64_t kRows = 4, kBytes = kRows * 36 * (1 + 2);
  const Collected all = collect(NumberedDataset(21, {}), 1, 0, 6);
  for (const int64_t fit : {1, 3}) {
    const CountedDataset data(21, {});
    Quarantine quarantine(data.size(), 0.2);
    const Pipeline pipeline;
    Loader loader(data, pipeline, quarantine,
                  {.batch_size = kRows, .seed = 5, .threads = 4, .prefetch = 16, .max_bytes = fit * kBytes + kBytes / 2}, 0);
    for (int64_t taken = 1; taken <= 6; ++taken) {
      expect_same(loader.next(), all.batches[static_cast<size_t>(taken - 1)]);
      while (data.asked < kRows * (taken + fit)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_EQ(data.asked, kRows * (taken + fit));
    }
    ASSERT_TRUE(loader.held_by_memory());
    EXPECT_EQ(loader.held_by_memory()->batches, fit);
    EXPECT_EQ(loader.held_by_memory()->batch_bytes, kBytes);
  }
}

TEST(Loader, MemoryForMoreThanItIsToHoldChangesNothing) {
  const CountedDataset data(21, {});
  Quarantine quarantine(data.size(), 0.2);
  const Pipeline pipeline;
  Loader loader(data, pipeline, quarantine, {.batch_size = 4, .seed = 5, .threads = 4, .prefetch = 2, .max_bytes = 1 << 20}, 0);
  loader.next();
  EXPECT_FALSE(loader.held_by_memory());
}

// Address space for some 20 MB more: two or three stacks of threads.
[[noreturn]] void load_with_little_memory() {
  const NumberedDataset data(8, {});
  const Pipeline pipeline = make_pipeline(std::vector<TransformConfig>());
  Quarantine quarantine(data.size(), 0.2);
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + (20 << 20));
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  int64_t loaded = 0;
  {
    Loader loader(data, pipeline, quarantine, {.batch_size = 4, .threads = 64}, 0);
    for (int i = 0; i < 5; ++i) loaded += loader.next().size();
  }
  std::_Exit(loaded == 20 ? 0 : 1);
}

TEST(Loader, WhereThereIsNoMemoryForMoreThreadsFewerLoad) {
  EXPECT_EXIT(load_with_little_memory(), ::testing::ExitedWithCode(0), "");
}

// Image i is 64 x 64 of values that differ from pixel to pixel, so that two crops or colours are never alike by chance.
class TexturedDataset : public NumberedDataset {
 public:
  explicit TexturedDataset(int64_t size, std::vector<int64_t> bad = {}) : NumberedDataset(size, std::move(bad)) {}
  Sample get(int64_t index) const override {
    Sample sample = NumberedDataset::get(index);
    sample.image = Image(64, 64, 1);
    sample.labels = LabelMap(64, 64);
    Rng rng(static_cast<uint64_t>(index), Stream::kSynthetic);
    for (uint8_t& value : sample.image.bytes()) value = static_cast<uint8_t>(rng.bits());
    return sample;
  }
};

std::vector<at::Tensor> rows_of(const Collected& run) {
  std::vector<at::Tensor> rows;
  for (const Batch& batch : run.batches) {
    for (int64_t i = 0; i < batch.size(); ++i) rows.push_back(batch.images[i]);
  }
  return rows;
}

void expect_all_differ(const std::vector<at::Tensor>& rows) {
  for (size_t a = 0; a < rows.size(); ++a) {
    for (size_t b = a + 1; b < rows.size(); ++b) EXPECT_FALSE(rows[a].equal(rows[b])) << "rows " << a << " and " << b;
  }
}

const std::vector<TransformConfig> kCrop{RandomCropConfig{.size = {16, 16}}};

TEST(Loader, SamplesThatComeAgainInABatchAreAugmentedAnew) {
  const Collected run = collect(TexturedDataset(3), 2, 0, 1, kCrop, 8);
  EXPECT_EQ(run.batches[0].indices[0], run.batches[0].indices[3]);
  expect_all_differ(rows_of(run));
}

TEST(Loader, SamplesThatFillTheLastBatchOfAnEpochAreAugmentedAnew) {
  expect_all_differ(rows_of(collect(TexturedDataset(17), 2, 0, 2, kCrop, 16)));
}

TEST(Loader, ASampleThatStandsInForABadOneIsAugmentedAnew) {
  const Collected run = collect(TexturedDataset(8, {2}), 1, 0, 2, kCrop);
  EXPECT_EQ(run.bad, 1);
  expect_all_differ(rows_of(run));
}

TEST(Loader, ASampleThatComesOnceIsAugmentedByItsIndexAlone) {
  const TexturedDataset data(8);
  const Pipeline pipeline = make_pipeline(kCrop);
  const Collected run = collect(data, 2, 0, 4, kCrop);  // two epochs of two batches
  for (size_t step = 0; step < 4; ++step) {
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t index = run.batches[step].indices[i];
      Sample sample = data.get(index);
      run_pipeline(pipeline, sample, 5, step / 2, static_cast<uint64_t>(index));
      const at::Tensor expected = torch::from_blob(sample.image.bytes().data(), {16, 16, 1}, torch::kUInt8);
      EXPECT_TRUE(run.batches[step].images[i].equal(expected));
    }
  }
}

TEST(Loader, BadSamplesAreReplacedAndCountedOnce) {
  const NumberedDataset data(21, {3, 11});
  const Collected run = collect(data, 2, 0, 18);  // three epochs
  EXPECT_EQ(run.bad, 2);
  for (const Batch& batch : run.batches) {
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NE(batch.indices[i], 3);
      EXPECT_NE(batch.indices[i], 11);
      EXPECT_EQ(batch.images[static_cast<int64_t>(i)][0][0][0].item<int64_t>(), batch.indices[i]);
    }
  }
}

TEST(Loader, StopsWithTheListWhenTooManyAreBad) {
  const NumberedDataset data(10, {0, 1, 2, 3, 4, 5});
  const std::string message = testing::message_of([&] { collect(data, 2, 0, 10); });
  EXPECT_CONTAINS(message, "of 10 samples are unusable");
  EXPECT_CONTAINS(message, "broken on purpose");
}

TEST(Quarantine, OneBadSampleIsAllowedUnlessTheShareIsZero) {
  Quarantine tolerant(5, 0.01), strict(5, 0.0);
  EXPECT_NO_THROW(tolerant.add({1, "a", "r", ""}));
  EXPECT_NO_THROW(tolerant.add({1, "a", "r", ""}));
  EXPECT_THROW(tolerant.add({2, "b", "r", ""}), Error);
  EXPECT_THROW(strict.add({1, "a", "r", ""}), Error);
  EXPECT_EQ(tolerant.take_new().size(), 2U);
  EXPECT_TRUE(tolerant.take_new().empty());
}

TEST(Loader, SamplesOfDifferentSizesAreRefusedWithAdvice) {
  class TwoSizes : public NumberedDataset {
   public:
    TwoSizes() : NumberedDataset(8, {}) {}
    Sample get(int64_t index) const override {
      Sample sample{id(index), Image(6, index % 2 ? 6 : 8, 1), LabelMap(6, index % 2 ? 6 : 8), {}};
      return sample;
    }
  };
  EXPECT_CONTAINS(testing::message_of([&] { collect(TwoSizes(), 1, 0, 2); }), "random_crop");
}

}  // namespace
}  // namespace tessera
