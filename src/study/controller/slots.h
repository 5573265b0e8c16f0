#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "study/controller/study_settings.h"

namespace tessera {

// What this machine has for trials. Without GPUs where an executor of other machines has its own.
struct Machine {
  int cores = 1;
  std::vector<double> gpu_memory_mb = {};  // of each GPU
  double memory_mb = 0;                    // of the machine; 0: not known
};

// Where a trial runs.
struct TrialPlace {
  std::vector<int> gpus = {};  // empty: none, or whatever the executor has
  int cores = 0;               // 0: whatever the executor has
};

// How many trials run at once, and where each does. Trials share a GPU, or the machine's memory, as far as what they were seen
// to need fits.
class Slots {
 public:
  Slots(const ResourceSettings& settings, Machine machine, std::optional<int> executor_limit);

  // Room for trial `number`; nothing where there is none. `alone`: with no other one on its GPUs, or without GPUs on the
  // machine.
  std::optional<TrialPlace> take(int64_t number, bool alone);
  // What a trial of an earlier controller has.
  void keep(int64_t number, const TrialPlace& place, bool alone);
  void release(int64_t number);
  // Whether another trial is on its device.
  bool shares(int64_t number) const;
  // The memory that a trial was seen to need on its GPU, or of the machine.
  void note_memory(double mb);

  int most_at_once() const;
  int cores_each() const;

 private:
  struct Tenant {
    TrialPlace place;
    bool alone = false;
  };
  int per_gpu() const;

  ResourceSettings settings_;
  Machine machine_;
  std::optional<int> limit_;
  double needed_mb_ = 0;
  std::map<int64_t, Tenant> tenants_;
};

}  // namespace tessera
