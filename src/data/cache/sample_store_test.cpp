#include "data/cache/sample_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <numeric>
#include <thread>

#include "core/files.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

using testing::TempFolder;

constexpr uint64_t kMegabyte = 1 << 20;

SampleKey key(uint64_t number) {
  return {number * 31 + 7, number + 1};
}

std::vector<uint8_t> content(uint64_t number, size_t size) {
  std::vector<uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), static_cast<uint8_t>(number));
  return bytes;
}

void put(SampleStore& store, uint64_t number, size_t size) {
  const std::vector<uint8_t> bytes = content(number, size), head(number % 5, 1);
  store.add(key(number), number, {head, bytes, {}});
}

// Whether it is there; what is there must be what was put.
bool has(SampleStore& store, uint64_t number, size_t size) {
  std::vector<uint8_t> head, bytes, none;
  const bool found = store.find(key(number), [&](uint64_t tag, const EntrySizes& sizes) {
    EXPECT_EQ(tag, number);
    head.resize(sizes[0]), bytes.resize(sizes[1]), none.resize(sizes[2]);
    return std::optional(std::array<std::span<uint8_t>, kEntryParts>{head, bytes, none});
  });
  if (found) {
    EXPECT_EQ(bytes, content(number, size));
    EXPECT_EQ(head.size(), number % 5);
  }
  return found;
}

uint64_t bytes_in(const fs::path& folder) {
  uint64_t bytes = 0;
  for (const fs::path& file : list_files(folder)) bytes += fs::file_size(file);
  return bytes;
}

fs::path only(const fs::path& folder, const std::string& ending) {
  for (const fs::path& file : list_files(folder)) {
    if (file.extension() == ending) return file;
  }
  return {};
}

TEST(SampleStore, KeepsForThisAndLaterProcesses) {
  const TempFolder folder;
  {
    SampleStore store(folder / "c", 100 * kMegabyte, 0);
    EXPECT_FALSE(has(store, 1, 1000));
    for (uint64_t i = 0; i < 50; ++i) put(store, i, 1000 + i);
    for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(has(store, i, 1000 + i));
  }
  SampleStore store(folder / "c", 100 * kMegabyte, 0);
  for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(has(store, i, 1000 + i));
  put(store, 50, 10);
  EXPECT_EQ(list_segments(folder / "c").size(), 1U) << "the segment is gone on with";
}

TEST(SampleStore, TwoThatWriteAtOnceSeeOneAnother) {
  const TempFolder folder;
  SampleStore one(folder / "c", 100 * kMegabyte, 0), other(folder / "c", 100 * kMegabyte, 0);
  put(one, 1, 100);
  put(other, 2, 100);
  EXPECT_EQ(list_segments(folder / "c").size(), 2U);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // how often they look for what is new
  EXPECT_TRUE(has(one, 2, 100) && has(other, 1, 100));
}

TEST(SampleStore, NeverGrowsBeyondTheLimit) {
  const TempFolder folder;
  const uint64_t limit = 8 * kMegabyte;
  SampleStore one(folder / "c", limit, 0), other(folder / "c", limit, 0);
  for (uint64_t i = 0; i < 400; ++i) put(i % 2 == 0 ? one : other, i, 50'000);
  EXPECT_LE(bytes_in(folder / "c"), limit + 400 * 32 + 8 * 32 + 4096) << "samples, and an index of 32 bytes for each";
  EXPECT_TRUE(one.is_full() && other.is_full());
  EXPECT_TRUE(has(one, 0, 50'000)) << "what is in use stays";
}

// Data that nobody uses any more makes room, but not before this process has had time to say what it uses.
TEST(SampleStore, UnusedSegmentsMakeRoom) {
  const TempFolder folder;
  const uint64_t limit = 4 * kMegabyte;
  {
    SampleStore old(folder / "c", limit, 0);
    for (uint64_t i = 0; i < 100; ++i) put(old, i, 50'000);
  }
  SampleStore store(folder / "c", limit, 40);
  EXPECT_TRUE(has(store, 0, 50'000));  // held from now on
  for (uint64_t i = 1000; i < 1030; ++i) put(store, i, 50'000);
  EXPECT_TRUE(store.is_full()) << "within the grace nothing is removed";

  SampleStore later(folder / "c", limit, 40);
  for (uint64_t i = 2000; i < 2040; ++i) EXPECT_FALSE(has(later, i, 50'000));
  for (uint64_t i = 2000; i < 2040; ++i) put(later, i, 50'000);
  EXPECT_TRUE(has(later, 2039, 50'000));
  EXPECT_TRUE(has(store, 0, 50'000)) << "what another process uses stays";
  EXPECT_LE(bytes_in(folder / "c"), limit + 100'000);
}

// Whatever a killed process left behind the last whole record is not seen, and written over.
TEST(SampleStore, TornWritesAreNeverSeen) {
  const TempFolder folder;
  {
    SampleStore store(folder / "c", 100 * kMegabyte, 0);
    for (uint64_t i = 0; i < 3; ++i) put(store, i, 1000);
  }
  const fs::path index = only(folder / "c", ".index"), samples = only(folder / "c", ".samples");
  const std::vector<uint8_t> whole_index = read_bytes(index), whole_samples = read_bytes(samples);
  for (size_t cut = 1; cut <= 32; ++cut) {
    write_file(index, std::span(whole_index).first(whole_index.size() - cut));
    write_file(samples, whole_samples);
    SampleStore store(folder / "c", 100 * kMegabyte, 0);
    EXPECT_TRUE(has(store, 0, 1000) && has(store, 1, 1000)) << cut;
    EXPECT_FALSE(has(store, 2, 1000)) << cut;
    put(store, 3, 2000);
    EXPECT_TRUE(has(store, 3, 2000)) << cut;
    SampleStore again(folder / "c", 100 * kMegabyte, 0);
    EXPECT_TRUE(has(again, 1, 1000) && has(again, 3, 2000)) << cut;
    EXPECT_EQ(list_segments(folder / "c").size(), 1U);
  }
}

TEST(SampleStore, DamageIsFoundAtEveryByte) {
  const TempFolder folder;
  {
    SampleStore store(folder / "c", 100 * kMegabyte, 0);
    put(store, 3, 200);
  }
  const fs::path samples = only(folder / "c", ".samples"), index = only(folder / "c", ".index");
  for (const fs::path& file : {samples, index}) {
    const std::vector<uint8_t> whole = read_bytes(file);
    for (size_t i = 0; i < whole.size(); ++i) {
      std::vector<uint8_t> damaged = whole;
      damaged[i] ^= 0x10;
      write_file(file, damaged);
      SampleStore store(folder / "c", 100 * kMegabyte, 0);
      EXPECT_FALSE(has(store, 3, 200)) << file << " byte " << i;
    }
    write_file(file, whole);
  }
  fs::resize_file(samples, 150);
  SampleStore store(folder / "c", 100 * kMegabyte, 0);
  EXPECT_FALSE(has(store, 3, 200));
  EXPECT_EQ(store.damaged(), 1);
  put(store, 3, 200);
  EXPECT_TRUE(has(store, 3, 200)) << "read from its source, it is kept again";
}

TEST(SampleStore, ManyThreadsAndProcesses) {
  const TempFolder folder;
  constexpr int kProcesses = 3, kThreads = 4;
  constexpr uint64_t kSamples = 60;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      SampleStore store(folder / "c", 100 * kMegabyte, 0);
      std::vector<std::thread> threads;
      std::atomic<bool> right = true;
      for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          for (uint64_t i = 0; i < kSamples; ++i) {
            const uint64_t number = (i * 7 + static_cast<uint64_t>(thread)) % kSamples;
            std::vector<uint8_t> head, bytes, none;
            const bool found = store.find(key(number), [&](uint64_t, const EntrySizes& sizes) {
              head.resize(sizes[0]), bytes.resize(sizes[1]), none.resize(sizes[2]);
              return std::optional(std::array<std::span<uint8_t>, kEntryParts>{head, bytes, none});
            });
            if (found && bytes != content(number, 5000 + number)) right = false;
            if (!found) put(store, number, 5000 + number);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      ::_exit(right && store.damaged() == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  SampleStore store(folder / "c", 100 * kMegabyte, 0);
  for (uint64_t i = 0; i < kSamples; ++i) EXPECT_TRUE(has(store, i, 5000 + i)) << i;
}

// A process that is killed in the middle, over and over, costs entries at most.
TEST(SampleStore, SurvivesKills) {
  const TempFolder folder;
  uint64_t number = 0;
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      SampleStore store(folder / "c", 1000 * kMegabyte, 0);
      for (uint64_t i = 0;; ++i) put(store, number + i, 20'000 + i % 1000);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 7 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    SampleStore store(folder / "c", 1000 * kMegabyte, 0);
    uint64_t there = 0;
    while (has(store, number + there, 20'000 + there % 1000)) ++there;
    EXPECT_EQ(store.damaged(), 0) << "round " << round;
    number += 1'000'000;
  }
  const std::vector<SegmentFiles> segments = list_segments(folder / "c");
  EXPECT_LE(segments.size(), bytes_in(folder / "c") / (segments[0].capacity * 9 / 10) + 1) << "each goes on with the last one";
}

}  // namespace
}  // namespace tessera
