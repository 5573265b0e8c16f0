#include "launch/cluster/command_line.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {

std::string own_program() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? "tessera" : path.string();
}

std::vector<std::string> rank_command(const LaunchOptions& options, bool again) {
  std::vector<std::string> words = options.command;
  TSR_CHECK(!words.empty(), "nothing to launch; expected e.g. tessera launch --ranks-per-node 2 -- train CONFIG");
  const auto& own = options.own_commands;
  // Options of the program itself may stand before its command: -q train ...
  const bool is_own = words.front().starts_with("-") || std::find(own.begin(), own.end(), words.front()) != own.end();
  if (!is_own) return words;
  const bool trains = std::find(words.begin(), words.end(), "train") != words.end();
  if (again && trains && std::find(words.begin(), words.end(), "--resume") == words.end()) words.emplace_back("--resume");
  words.insert(words.begin(), own_program());
  return words;
}

}  // namespace tessera
