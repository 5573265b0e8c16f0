#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace tessera {

// A thread that looks, every half second, whether the ranks are to meet again, and then aborts what this rank's GPU is at: the
// thread that works with it may be waiting for it, and it for a rank that has left. See Note [Meeting again].
class MeetingWatch {
 public:
  // Both are called on the thread; abort once at most. Where `wanted` throws, as when the ranks' store is gone, the watch ends.
  MeetingWatch(std::function<bool()> wanted, std::function<void()> abort,
               std::chrono::milliseconds period = std::chrono::milliseconds(500));
  // Behind it neither is called any more.
  ~MeetingWatch() = default;

 private:
  void look(const std::stop_token& stop);

  std::function<bool()> wanted_;
  std::function<void()> abort_;
  std::chrono::milliseconds period_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tessera
