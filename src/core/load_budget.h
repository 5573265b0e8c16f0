#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

namespace tessera {

// How much of what is read ahead may be in memory at once. Items are numbered in the order in which they are used; threads that
// read them wait while others fill the budget, but never the one that is used next, so one item may be larger than all of it.
// Thread-safe.
class LoadBudget {
 public:
  explicit LoadBudget(int64_t bytes) : bytes_(bytes) {}

  // Before an item is read, with a guess of its size: waits until there is room.
  void enter(int64_t item, int64_t guess) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return open_ || item == used_ || taken_ + guess <= bytes_; });
    taken_ += guess;
    items_[item] = guess;
  }

  // After it was read, with its real size.
  void resize(int64_t item, int64_t size) {
    const std::lock_guard lock(mutex_);
    taken_ += size - items_[item];
    items_[item] = size;
    room_.notify_all();
  }

  // After it was used; items leave in order.
  void leave(int64_t item) {
    const std::lock_guard lock(mutex_);
    taken_ -= items_[item];
    items_.erase(item);
    used_ = item + 1;
    room_.notify_all();
  }

  // Nobody waits any more: for who ends early and joins the threads.
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    room_.notify_all();
  }

 private:
  const int64_t bytes_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::map<int64_t, int64_t> items_;  // sizes of those that are in memory
  int64_t taken_ = 0;
  int64_t used_ = 0;  // the item that is used next
  bool open_ = false;
};

}  // namespace tessera
