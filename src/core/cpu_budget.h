#pragma once
#include <cstdint>
#include <optional>

#include "core/files.h"

namespace tessera {

// How many CPUs this process may keep busy. A container often shows all of its host's and grants a few by a quota.
struct CpuBudget {
  int online = 1;                    // of the machine
  int allowed = 1;                   // by the process's mask: taskset, a launcher, a cpuset
  std::optional<double> quota = {};  // CPU seconds in a second, of the cgroup and all above it

  int cpus() const;  // at least 1
  // For each of `ranks` processes or threads like this one on the host. A launcher may have given each a mask of its own.
  int share(int ranks) const;
};

CpuBudget cpu_budget();

// The smallest quota of the cgroups, version 1 or 2, that hold this process, as the files below `root` tell it.
std::optional<double> cgroup_quota(const fs::path& root = "/");

// Threads of a rank that read and decode images, wherever that is done: as many as data.threads says, or where that is 0 the
// rank's share of the CPUs. ranks: on this host.
int loader_threads(int64_t data_threads, int ranks, const CpuBudget& budget = cpu_budget());

// Throws UsageError that names `option` where a host has too few CPUs for that many ranks: they would wait for one another,
// each with its own copy of everything, and bring the machine down. A few ranks on a small machine are for trying things out.
void check_ranks(const char* option, int64_t ranks, const CpuBudget& budget = cpu_budget());

}  // namespace tessera
