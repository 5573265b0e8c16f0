#include "launch/node/affinity.h"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/files.h"
#include "core/split.h"
#include "launch/numbers.h"

namespace tessera {
namespace {

bool touches(const Core& core, const std::vector<int>& cpus) {
  return std::any_of(core.begin(), core.end(), [&](int cpu) { return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end(); });
}

// Such lists may end with a comma, or hold nothing.
std::vector<std::string> comma_list(const std::string& text) {
  std::vector<std::string> parts = split(text, ',');
  std::erase(parts, "");
  return parts;
}

// PCI addresses such as 0000:3b:00.0, in the order of the bus, which is CUDA's for GPUs of one kind.
std::vector<std::string> gpu_pci_addresses() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", error)) found.push_back(entry.path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

// Which of the machine's GPUs this process sees; nothing when they are all, or named in a way other than by number.
std::optional<std::vector<int>> visible_gpus() {
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return std::nullopt;
  std::vector<int> found;
  for (const std::string& part : comma_list(text)) found.push_back(static_cast<int>(parse_whole(part).value_or(-1)));
  return found;
}

}  // namespace

std::vector<std::vector<Core>> share_cores(const std::vector<Core>& cores, const std::vector<std::vector<int>>& near) {
  std::map<std::vector<int>, std::vector<size_t>> neighbourhoods;  // CPUs -> ranks
  for (size_t rank = 0; rank < near.size(); ++rank) neighbourhoods[near[rank]].push_back(rank);
  std::vector<std::vector<Core>> shares(near.size());
  for (const auto& [cpus, ranks] : neighbourhoods) {
    std::vector<Core> here;
    for (const Core& core : cores) {
      if (cpus.empty() || touches(core, cpus)) here.push_back(core);
    }
    if (here.size() < ranks.size()) {
      // A mask that leaves too few cores beside some GPU: far cores of one's own are better than near ones shared.
      const bool mixed = neighbourhoods.size() > 1 || !cpus.empty();
      return mixed ? share_cores(cores, std::vector<std::vector<int>>(near.size())) : std::vector<std::vector<Core>>{};
    }
    for (size_t i = 0; i < ranks.size(); ++i) {
      const size_t begin = i * here.size() / ranks.size(), end = (i + 1) * here.size() / ranks.size();
      shares[ranks[i]].assign(here.begin() + static_cast<ptrdiff_t>(begin), here.begin() + static_cast<ptrdiff_t>(end));
    }
  }
  return shares;
}

std::vector<Core> allowed_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  hwloc_topology_t raw = nullptr;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || hwloc_topology_init(&raw) != 0) return {};
  const std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)> topology(raw, hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0) return {};
  std::vector<Core> cores;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_CORE, core)) != nullptr;) {
    Core found;
    for (int cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(core->cpuset, cpu)) {
      if (cpu < CPU_SETSIZE && CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) found.push_back(cpu);
    }
    if (!found.empty()) cores.push_back(found);
  }
  return cores;
}

std::vector<std::vector<int>> cpus_near_gpus(int ranks) {
  std::vector<std::vector<int>> near(static_cast<size_t>(ranks));
  const std::vector<std::string> gpus = gpu_pci_addresses();
  const auto visible = visible_gpus();
  for (size_t rank = 0; rank < near.size(); ++rank) {
    const int gpu = !visible ? static_cast<int>(rank) : rank < visible->size() ? (*visible)[rank] : -1;
    if (gpu < 0 || static_cast<size_t>(gpu) >= gpus.size()) continue;
    std::ifstream file("/sys/bus/pci/devices/" + gpus[gpu] + "/local_cpulist");
    std::string list;
    if (std::getline(file, list)) near[rank] = parse_cpu_list(list);
  }
  return near;
}

int num_gpus() {
  if (const auto visible = visible_gpus()) return static_cast<int>(visible->size());
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("nvidia") && parse_whole(std::string_view(name).substr(6))) ++count;
  }
  return count;
}

cpu_set_t to_cpu_set(const std::vector<Core>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const Core& core : cores) {
    for (const int cpu : core) CPU_SET(static_cast<unsigned>(cpu), &set);
  }
  return set;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  for (const std::string& range : comma_list(text)) {
    const size_t dash = range.find('-');
    const auto low = parse_whole(std::string_view(range).substr(0, dash));
    const auto high = dash == std::string::npos ? low : parse_whole(std::string_view(range).substr(dash + 1));
    if (!low || !high || *high >= CPU_SETSIZE) continue;
    for (int64_t cpu = *low; cpu <= *high; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

}  // namespace tessera
