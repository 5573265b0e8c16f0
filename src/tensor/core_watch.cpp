#include "tensor/core_watch.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "core/cpu_load.h"
#include "core/log.h"

namespace tessera {

IdleTeam::IdleTeam(int size) {
  owner_ = std::thread([this, size] {
    std::atomic<int> started = 0;  // a loop that does nothing at all is left out by the compiler
#pragma omp parallel num_threads(size)
    ++started;
    // They sleep until their owner ends, which ends them.
    std::unique_lock lock(mutex_);
    there_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return stop_; });
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return there_; });
}

IdleTeam::~IdleTeam() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  owner_.join();
}

CoreWatch::CoreWatch() {
  const int threads = at::get_num_threads(), cpus = omp_get_num_procs();
  const bool decided = std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr;
  if (threads < 2 || decided) return;
  watcher_ = std::thread([this, threads, cpus] { watch(threads, cpus); });
}

CoreWatch::~CoreWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  ended_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

bool CoreWatch::sleeping() const {
  const std::lock_guard lock(mutex_);
  return sleeping_;
}

bool CoreWatch::pause(double seconds) {
  std::unique_lock lock(mutex_);
  return !ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return stop_; });
}

void CoreWatch::watch(int threads, int cpus) {
  constexpr double kFirst_s = 0.25, kEach_s = 1;
  constexpr int kEnough = 2;  // libgomp does not count the first of a team
  std::unique_ptr<IdleTeam> team;
  bool said = false;
  CpuUse before = look_at_cpus();
  for (double wait = kFirst_s; pause(wait); wait = kEach_s) {
    const CpuUse now = look_at_cpus();
    const double others = cpus_of_others(before, now);
    before = now;
    const bool is_short = cpus_are_short(others, threads, cpus, team != nullptr);
    if (is_short == (team != nullptr)) continue;
    team = is_short ? std::make_unique<IdleTeam>(std::max(0, cpus - threads) + kEnough) : nullptr;
    {
      const std::lock_guard lock(mutex_);
      sleeping_ = is_short;
    }
    if (is_short && !said) {
      log_info("other processes use {:.1f} of the {} CPUs here: this takes longer than alone", others, cpus);
      said = true;
    }
  }
}

}  // namespace tessera
