#pragma once
#include <memory>
#include <mutex>

#include "data/check/data_look.h"

namespace tessera {

// The newest look at one data set, for runs that share it: reading 64 whole images is a good part of a short run. Any thread
// may ask.
class KeptLook {
 public:
  // As look_at_data.
  std::shared_ptr<const DataLook> look(const Dataset& dataset, int64_t count, uint64_t seed, int threads) {
    const std::lock_guard lock(mutex_);
    if (kept_ == nullptr || count != count_ || seed != seed_) {
      kept_ = std::make_shared<DataLook>(look_at_data(dataset, count, seed, threads));
      count_ = count;
      seed_ = seed;
    }
    return kept_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const DataLook> kept_;
  int64_t count_ = 0;
  uint64_t seed_ = 0;
};

}  // namespace tessera
