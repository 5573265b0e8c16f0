#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tessera {

// Note [Waiting threads]
// Threads of libgomp that wait for the next parallel loop spin, 300,000 times, which on processors since 2017 is some 20 ms:
// far quicker than to sleep and be woken where a loop follows a loop. But two programs of that kind on the same CPUs spin in
// each other's way: what one waits for cannot run while the other one waits. Sleeping always (OMP_WAIT_POLICY=passive) would
// slow a run that is alone. So while others use the CPUs, and only then, ours sleep. libgomp reads GOMP_SPINCOUNT once, before
// main. What it looks at all the time is whether it has more threads than there are CPUs: then they spin 100 times only. A team
// that does nothing brings it there, and its end back again.

// From its making to its end, looks every second whether other processes use the CPUs of this one. Says so once in the log.
// One per process; needs nothing where one thread computes, or where the environment says how to wait.
class CoreWatch {
 public:
  CoreWatch();
  ~CoreWatch();
  CoreWatch(const CoreWatch&) = delete;
  CoreWatch& operator=(const CoreWatch&) = delete;

  bool sleeping() const;  // whether waiting threads sleep now

 private:
  void watch(int threads, int cpus);
  bool pause(double seconds);  // false: the end has come

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool stop_ = false, sleeping_ = false;
  std::thread watcher_;
};

// Threads of libgomp that do nothing, while it lives.
class IdleTeam {
 public:
  explicit IdleTeam(int size);
  ~IdleTeam();
  IdleTeam(const IdleTeam&) = delete;
  IdleTeam& operator=(const IdleTeam&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool there_ = false, stop_ = false;
  std::thread owner_;
};

}  // namespace tessera
