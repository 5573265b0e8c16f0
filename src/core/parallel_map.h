#pragma once
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/start_threads.h"

namespace tessera {

// Computes make(0), make(1), ... on threads and hands the results out in order, holding at most `ahead` of them. Where there is
// no memory for so many threads (each has a stack) fewer do the work, and where there is for none, `next` does it.
template <class T>
class ParallelMap {
 public:
  ParallelMap(int64_t count, int threads, int64_t ahead, std::function<T(int64_t)> make)
      : count_(count), ahead_(ahead), make_(std::move(make)) {
    start_threads(workers_, std::max(1, threads), [this] { work(); });
  }
  ~ParallelMap() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    space_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  ParallelMap(const ParallelMap&) = delete;
  ParallelMap& operator=(const ParallelMap&) = delete;

  // The next result, or nothing at the end. Rethrows what `make` threw for it.
  std::optional<T> next() {
    std::unique_lock lock(mutex_);
    if (next_out_ == count_) return std::nullopt;
    if (workers_.empty()) return make_(next_out_++);
    ready_.wait(lock, [&] { return results_.count(next_out_) > 0; });
    Result result = std::move(results_.at(next_out_));
    results_.erase(next_out_++);
    space_.notify_all();
    if (result.error) std::rethrow_exception(result.error);
    return std::move(result.value);
  }

 private:
  struct Result {
    std::optional<T> value;
    std::exception_ptr error;
  };

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      space_.wait(lock, [&] { return stop_ || next_in_ == count_ || next_in_ < next_out_ + ahead_; });
      if (stop_ || next_in_ == count_) return;
      const int64_t index = next_in_++;
      lock.unlock();
      Result result;
      try {
        result.value = make_(index);
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      results_.emplace(index, std::move(result));
      ready_.notify_all();
    }
  }

  const int64_t count_, ahead_;
  std::function<T(int64_t)> make_;
  std::mutex mutex_;
  std::condition_variable space_, ready_;
  std::map<int64_t, Result> results_;
  int64_t next_in_ = 0, next_out_ = 0;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace tessera
