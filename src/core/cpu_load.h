#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// CPU time that a machine's CPUs and one process on it have used, in seconds since some beginning.
struct CpuUse {
  double seconds = 0;  // of the clock
  double all = 0;      // of the CPUs looked at, by everybody
  double own = 0;      // of the process, all threads
};

// CPUs that others kept busy between two looks: 1.5 is one and a half of them.
double cpus_of_others(const CpuUse& before, const CpuUse& after);

// The time in which the CPUs with these numbers were busy, in ticks, from the text of /proc/stat.
int64_t busy_ticks(const std::string& stat, const std::vector<int>& cpus);

// Now, of the CPUs that this process may use.
CpuUse look_at_cpus();

// Whether threads that wait for one another should sleep, because others want the CPUs: `threads` of ours and what the others
// use are more than there are. now: whether they do already; the two bounds lie apart so that it does not flicker.
bool cpus_are_short(double others, int threads, int cpus, bool now);

}  // namespace tessera
