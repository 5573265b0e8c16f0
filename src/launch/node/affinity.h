#pragma once
#include <sched.h>

#include <string>
#include <vector>

namespace tessera {

// One physical core: the logical CPUs on it that we may use.
using Core = std::vector<int>;

// Cuts the cores among the ranks of this host, all shares alike to one core. `cores` are in the order of the machine, so that
// neighbours share caches and memory. `near[r]` holds the CPUs beside rank r's GPU, empty if it has none or nothing is known:
// ranks of one neighbourhood share its cores alone. Empty when there are fewer cores than ranks: then nobody is bound.
std::vector<std::vector<Core>> share_cores(const std::vector<Core>& cores, const std::vector<std::vector<int>>& near);

// The cores this process may use, in the machine's order.
std::vector<Core> allowed_cores();

// For each rank of this host, the CPUs beside the GPU it will take, as the kernel tells it.
std::vector<std::vector<int>> cpus_near_gpus(int ranks);

int num_gpus();  // that CUDA would show here

cpu_set_t to_cpu_set(const std::vector<Core>& cores);

// "0-3,8": 0, 1, 2, 3, 8.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace tessera
