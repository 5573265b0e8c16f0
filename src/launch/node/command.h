#pragma once
#include <string>
#include <vector>

namespace tessera {

// How a command of another program went.
struct CommandResult {
  int exit_code = 0;  // 128 + a signal
  bool timed_out = false;
  std::string out, err;
  bool ok() const { return !timed_out && exit_code == 0; }
  // Why it failed, for a message: its last words, or that it did not answer.
  std::string complaint() const;
};

// Runs a command to its end, at most `timeout_s` seconds; it is killed then. `input` is what it reads. Throws Error where it
// cannot be started at all.
CommandResult run_command(const std::vector<std::string>& words, double timeout_s, const std::string& input = "");

}  // namespace tessera
