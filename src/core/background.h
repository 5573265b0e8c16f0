#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace tessera {

// One job at a time on a thread of its own, beside the caller.
class Background {
 public:
  Background() : worker_([this] { work(); }) {}
  ~Background() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Starts a job once the one before is done. Rethrows what that one threw.
  void start(std::function<void()> job) {
    wait();
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
    changed_.notify_all();
  }

  // Returns when there is no job left. Rethrows what the last one threw.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !job_; });
    if (const std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || job_; });
      if (!job_) return;
      lock.unlock();
      std::exception_ptr error;
      try {
        job_();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;  // empty: none
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread worker_;  // the last member: it uses the others
};

}  // namespace tessera
