#include "core/cpu_budget.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"

namespace tessera {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool has_part(const std::string& list, const std::string& part) {
  return ("," + list + ",").find("," + part + ",") != std::string::npos;
}

// Where a hierarchy of cgroups is mounted, and which of its groups is the mount's root.
struct Mount {
  std::string root, point;
};

// The mount of version 2, or of version 1 with the controller `cpu`.
std::optional<Mount> find_mount(const fs::path& root, bool version_2) {
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // id parent device root point options ... - type source superoptions
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto first = words_of(line.substr(0, dash)), last = words_of(line.substr(dash + 3));
    if (first.size() < 5 || last.size() < 3) continue;
    if (version_2 ? last[0] == "cgroup2" : last[0] == "cgroup" && has_part(last[2], "cpu")) return Mount{first[3], first[4]};
  }
  return std::nullopt;
}

// The group of this process in that hierarchy: "0::/a/b", or "4:cpu,cpuacct:/a/b".
std::optional<std::string> find_group(const fs::path& root, bool version_2) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version_2 ? controllers.empty() : has_part(controllers, "cpu")) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<double> number_in(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

std::optional<double> ratio(std::optional<double> quota, std::optional<double> period) {
  return quota && period && *quota > 0 && *period > 0 ? std::optional(*quota / *period) : std::nullopt;
}

std::optional<double> quota_of(const fs::path& folder, bool version_2) {
  if (!version_2) return ratio(number_in(folder / "cpu.cfs_quota_us"), number_in(folder / "cpu.cfs_period_us"));
  std::ifstream file(folder / "cpu.max");  // "max 100000" or "150000 100000"
  double quota = 0, period = 0;
  return file >> quota >> period ? ratio(quota, period) : std::nullopt;
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

std::optional<double> quota_in_hierarchy(const fs::path& root, bool version_2) {
  const auto mount = find_mount(root, version_2);
  const auto group = find_group(root, version_2);
  if (!mount || !group) return std::nullopt;
  // Inside a container the mount often shows the process's own group as its root.
  const bool below = mount->root == "/" || *group == mount->root || group->starts_with(mount->root + "/");
  fs::path rest = below ? fs::path(group->substr(mount->root == "/" ? 0 : mount->root.size())).relative_path() : fs::path();
  const fs::path point = root / fs::path(mount->point).relative_path();
  std::optional<double> quota;
  for (;; rest = rest.parent_path()) {
    quota = smaller(quota, quota_of(rest.empty() ? point : point / rest, version_2));
    if (rest.empty()) return quota;
  }
}

}  // namespace

int CpuBudget::cpus() const {
  // A quota of 1.5 keeps two threads busy three quarters of the time: better than one.
  const int granted = quota ? static_cast<int>(std::ceil(std::min(*quota, 1e6))) : allowed;
  return std::max(1, std::min(allowed, granted));
}

int CpuBudget::share(int ranks) const {
  const CpuBudget machine{.online = online, .allowed = std::max(online, allowed), .quota = quota};
  return std::max(1, std::min(cpus(), machine.cpus() / std::max(1, ranks)));
}

std::optional<double> cgroup_quota(const fs::path& root) {
  return smaller(quota_in_hierarchy(root, true), quota_in_hierarchy(root, false));
}

CpuBudget cpu_budget() {
  CpuBudget budget;
  budget.online = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // Machines with more CPUs than fit into the mask answer with an error.
  budget.allowed = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : budget.online;
  budget.quota = cgroup_quota();
  return budget;
}

int loader_threads(int64_t data_threads, int ranks, const CpuBudget& budget) {
  return data_threads > 0 ? static_cast<int>(data_threads) : budget.share(ranks);
}

void check_ranks(const char* option, int64_t ranks, const CpuBudget& budget) {
  constexpr int kAnywhere = 16, kPerCpu = 4;
  const int most = std::max(kAnywhere, kPerCpu * budget.online);
  if (ranks < 1 || ranks > most) {
    fail_usage("{} expects 1 to {} on this host with {} CPUs, got {}; leave it out for one per device", option, most,
               budget.online, ranks);
  }
}

}  // namespace tessera
