#include "core/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// A number, or "max", or nothing where the file is not there.
int64_t limit_in(const fs::path& file) {
  std::ifstream text(file);
  int64_t bytes = 0;
  return text >> bytes && bytes > 0 ? bytes : kNone;
}

// Calls look(folder) for a group and all above it, whose limits hold for it too.
template <class Look>
void each_level(const fs::path& root, const std::string& group, const Look& look) {
  look(root);
  fs::path at = root;
  for (const fs::path& part : fs::path(group).relative_path()) look(at /= part);
}

// Calls look(folder, file of the limit) for all control groups, of version 1 and 2, that limit the memory of a process.
template <class Look>
void each_limit(const fs::path& root, const std::string& groups, const Look& look) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) each_level(root, group, [&](const fs::path& folder) { look(folder, "memory.max"); });
    if (("," + controllers + ",").find(",memory,") != std::string::npos)
      each_level(root / "memory", group, [&](const fs::path& folder) { look(folder, "memory.limit_in_bytes"); });
  }
}

// What a group has in memory that cannot be dropped: "anon" and "shmem" of version 2, "total_rss" and "total_shmem" of 1.
int64_t kept_bytes(const fs::path& stat) {
  std::ifstream lines(stat);
  int64_t total = 0, shared = 0, bytes = 0;
  for (std::string name; lines >> name >> bytes;) {
    if (name == "anon" || name == "total_rss") total += bytes;
    if (name == "shmem") shared = bytes;  // version 1 has that of the group alone, and then of those below it too
    if (name == "total_shmem") shared = bytes;
  }
  return total + shared;
}

std::string groups_of_process() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* kGroups = "/sys/fs/cgroup";

}  // namespace

int64_t group_memory_limit(const fs::path& root, const std::string& groups) {
  return GroupMemory(root, groups).limit();
}

GroupMemory::GroupMemory(const fs::path& root, const std::string& groups) {
  // Version 1 says "no limit" with a number near 2^63.
  constexpr int64_t kBeyondAny = int64_t{1} << 60;
  each_limit(root, groups, [&](const fs::path& folder, const char* file) {
    if (const int64_t limit = limit_in(folder / file); limit < kBeyondAny) levels_.push_back({limit, folder / "memory.stat"});
  });
}

GroupMemory GroupMemory::of_process() {
  return {kGroups, groups_of_process()};
}

int64_t GroupMemory::limit() const {
  int64_t least = kNone;
  for (const Level& level : levels_) least = std::min(least, level.limit);
  return least;
}

int64_t GroupMemory::room() const {
  int64_t least = kNone;
  for (const Level& level : levels_) least = std::min(least, std::max<int64_t>(0, level.limit - kept_bytes(level.stat)));
  return least;
}

int64_t memory_limit() {
  int64_t least = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  least = std::min(least, GroupMemory::of_process().limit());
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    least = std::min(least, static_cast<int64_t>(limit.rlim_cur));
  return least;
}

int64_t memory_for_reading_ahead(int ranks) {
  constexpr int64_t kShare = 8;  // one part of so many
  return memory_limit() / kShare / std::max(1, ranks);
}

}  // namespace tessera
