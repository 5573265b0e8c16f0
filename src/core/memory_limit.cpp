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

// Of a group and all above it, which hold for it too.
int64_t least_limit(const fs::path& root, const std::string& group, const char* file) {
  int64_t least = limit_in(root / file);
  fs::path at = root;
  for (const fs::path& part : fs::path(group).relative_path()) {
    at /= part;
    least = std::min(least, limit_in(at / file));
  }
  return least;
}

}  // namespace

int64_t group_memory_limit(const fs::path& root, const std::string& groups) {
  int64_t least = kNone;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) least = std::min(least, least_limit(root, group, "memory.max"));  // version 2
    if (("," + controllers + ",").find(",memory,") != std::string::npos)
      least = std::min(least, least_limit(root / "memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

int64_t memory_limit() {
  std::ifstream file("/proc/self/cgroup");
  const std::string groups(std::istreambuf_iterator<char>(file), {});
  int64_t least = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  least = std::min(least, group_memory_limit("/sys/fs/cgroup", groups));
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    least = std::min(least, static_cast<int64_t>(limit.rlim_cur));
  return least;
}

}  // namespace tessera
