#include "launch/node/proc_sample.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void add_one(pid_t pid, ProcSample& sum) {
  const std::string stat = first_line(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = stat.rfind(')');  // the name before it may hold anything
  if (name_end == std::string::npos) return;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  char state = 'X';
  int64_t major_faults = 0, user = 0, system = 0;
  fields >> state;
  for (int i = 0; i < 8; ++i) fields >> skipped;  // up to cminflt
  fields >> major_faults >> skipped >> user >> system;
  sum.pages_read += major_faults;
  sum.cpu_s += static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  if (sum.state != 'T') sum.state = state;
  std::ifstream io(fmt::format("/proc/{}/io", pid));
  int64_t bytes = 0;
  for (std::string name; io >> name >> bytes;) {
    if (name == "rchar:" || name == "wchar:") sum.io_bytes += bytes;
  }
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigCgt:")) sum.caught_signals |= std::stoull(line.substr(7), nullptr, 16);
  }
}

}  // namespace

ProcSample sample_process(pid_t pid) {
  ProcSample sum;
  std::vector<pid_t> pids{pid};
  for (size_t i = 0; i < pids.size(); ++i) {
    add_one(pids[i], sum);
    std::istringstream children(first_line(fmt::format("/proc/{}/task/{}/children", pids[i], pids[i])));
    for (pid_t child = 0; children >> child;) pids.push_back(child);
  }
  return sum;
}

}  // namespace tessera
