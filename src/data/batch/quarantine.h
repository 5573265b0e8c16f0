#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/sample.h"

namespace tessera {

struct BadSampleRecord {
  int64_t index = 0;
  std::string id;
  std::string reason;
  std::string replaced_by;  // id of the sample used instead; empty when it was left out
};

// The unusable samples met in a run. Each is recorded and reported once; when there are more than the allowed share of the
// data set (and more than one, unless the share is 0), `add` throws an Error with the list. Thread-safe.
class Quarantine {
 public:
  Quarantine(int64_t dataset_size, double max_share) : size_(dataset_size), max_share_(max_share) {}

  void add(BadSampleRecord record);
  bool contains(int64_t index) const;
  int64_t count() const;

  // Records not taken before, in order of their index: for the log, from the trainer's thread.
  std::vector<BadSampleRecord> take_new();

 private:
  int64_t size_;
  double max_share_;
  mutable std::mutex mutex_;
  std::unordered_map<int64_t, BadSampleRecord> records_;
  std::vector<BadSampleRecord> fresh_;
};

}  // namespace tessera
