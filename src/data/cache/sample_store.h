#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "core/access.h"
#include "data/cache/cache_segment.h"

namespace tessera {

// Entries of a folder that all processes of a host share: Note [Sample cache]. Thread-safe. What is in it is found again by
// this and later processes; that something is not found, or is no longer kept, is never an error.
class SampleStore {
 public:
  // limit: bytes of all segments together. grace: so many look-ups are made before other data's segments are removed for room:
  // by then those that this process uses are held. Throws Error where the folder cannot be made.
  SampleStore(std::filesystem::path folder, uint64_t limit, int64_t grace);

  // False: it is not there, or damaged; what `place` gave is undefined then.
  bool find(const SampleKey& key, const PlaceParts& place);
  void add(const SampleKey& key, uint64_t tag, const EntryParts& parts);

  int64_t hits() const { return hits_; }
  int64_t damaged() const { return damaged_; }
  bool is_full() const { return full_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Place {
    uint32_t segment;
    uint32_t offset;  // in units of 64 bytes
  };

  std::optional<Place> look_up(const SampleKey& key);
  CacheSegment* hold(uint32_t number);
  void refresh();  // under mutex_, as all below
  void take_records(uint32_t segment);
  bool get_writer(const EntrySizes& sizes);
  bool take_over(const EntrySizes& sizes);
  bool make_room(uint64_t bytes);
  void give_up(const std::string& why);

  std::filesystem::path folder_;
  uint64_t limit_, segment_bytes_;
  int64_t grace_;
  Access access_;
  std::shared_mutex mutex_;
  std::deque<CacheSegment> segments_;  // addresses stay
  std::unordered_map<std::string, uint32_t> by_name_;
  std::unordered_map<uint64_t, Place> places_;  // by the lower half of the key; the entry has all of it
  std::chrono::steady_clock::time_point refreshed_;
  std::optional<uint32_t> writer_;
  std::atomic<int64_t> look_ups_ = 0, hits_ = 0, damaged_ = 0;
  std::atomic<bool> full_ = false, said_damaged_ = false;
};

}  // namespace tessera
