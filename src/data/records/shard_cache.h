#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tessera {

// Shards that are open, at most `most` of them: the one that was not read for the longest time goes first, and stays readable
// for who still has it. Thread-safe; one thread opens a shard, others that want it wait, those that want another do not.
template <class Shard>
class ShardCache {
 public:
  ShardCache(size_t most, std::function<std::shared_ptr<const Shard>(size_t)> open) : most_(most), open_(std::move(open)) {}

  // Throws what opening throws; the next call tries again.
  std::shared_ptr<const Shard> get(size_t index) {
    const std::shared_ptr<Slot> slot = slot_of(index);
    const std::lock_guard lock(slot->mutex);
    if (!slot->shard) slot->shard = open_(index);
    return slot->shard;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Shard> shard;
    std::list<size_t>::iterator age;
  };

  std::shared_ptr<Slot> slot_of(size_t index) {
    const std::lock_guard lock(mutex_);
    auto found = slots_.find(index);
    if (found == slots_.end()) {
      ages_.push_front(index);
      found = slots_.emplace(index, std::make_shared<Slot>()).first;
      found->second->age = ages_.begin();
    } else {
      ages_.splice(ages_.begin(), ages_, found->second->age);
    }
    if (slots_.size() > most_) {
      slots_.erase(ages_.back());
      ages_.pop_back();
    }
    return found->second;
  }

  const size_t most_;
  const std::function<std::shared_ptr<const Shard>(size_t)> open_;
  std::mutex mutex_;
  std::list<size_t> ages_;  // the youngest first
  std::unordered_map<size_t, std::shared_ptr<Slot>> slots_;
};

}  // namespace tessera
