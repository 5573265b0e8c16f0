#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"

namespace tessera {

struct Host {
  std::string name;
  int ranks = 0;  // 0: as many as there are GPUs on it, or as --ranks-per-node says
  bool operator==(const Host&) const = default;
};

// "a:8,b:8"; "user@a" and "[::1]:2" are names too. Throws UsageError.
std::vector<Host> parse_hosts(std::string_view text);

// One host per line: "a:8", "a 8" or, as for mpirun, "a slots=8"; '#' begins a comment. Throws Error or UsageError.
std::vector<Host> read_hostfile(const fs::path& path);

}  // namespace tessera
