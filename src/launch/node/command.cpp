#include "launch/node/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "core/clock.h"
#include "core/printable.h"
#include "core/split.h"
#include "launch/node/process.h"

extern char** environ;

namespace tessera {
namespace {

constexpr int kLook_ms = 50;

// False once the other end is closed.
bool take(int fd, std::string& text) {
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<size_t>(got));
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
}

// The rest of what is to be written.
void give(int fd, std::string& input) {
  const ssize_t sent = write(fd, input.data(), input.size());
  if (sent > 0) input.erase(0, static_cast<size_t>(sent));
  if (sent < 0 && errno != EAGAIN && errno != EINTR) input.clear();  // it does not listen any more
}

}  // namespace

std::string CommandResult::complaint() const {
  std::string said;
  for (const std::string& line : split(err.empty() ? out : err, '\n')) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) said += (said.empty() ? "" : "; ") + printable(line);
  }
  constexpr size_t kMost = 600;
  if (said.size() > kMost) said = "..." + said.substr(said.size() - kMost);
  if (timed_out) return "no answer in time" + (said.empty() ? "" : ": " + said);
  return said.empty() ? fmt::format("exit code {}", exit_code) : said;
}

CommandResult run_command(const std::vector<std::string>& words, double timeout_s, const std::string& input) {
  ProcessSpec spec{.words = words, .pipe_stdin = !input.empty()};
  for (char** entry = environ; *entry != nullptr; ++entry) spec.environment.emplace_back(*entry);
  Process process(spec);
  std::string unsent = input;
  if (!unsent.empty()) fcntl(process.in(), F_SETFL, O_NONBLOCK);
  CommandResult result;
  bool out_open = true, err_open = true;
  const double end = monotonic_s() + timeout_s;
  // Whoever it has started may keep its output open: its own end is what counts.
  while (!process.reap()) {
    if (monotonic_s() > end) {
      result.timed_out = true;
      process.signal(SIGKILL);
      break;
    }
    std::array<pollfd, 3> files{pollfd{out_open ? process.out() : -1, POLLIN, 0},
                                pollfd{err_open ? process.err() : -1, POLLIN, 0},
                                pollfd{unsent.empty() ? -1 : process.in(), POLLOUT, 0}};
    ::poll(files.data(), files.size(), kLook_ms);
    if (!unsent.empty()) {
      give(process.in(), unsent);
      if (unsent.empty()) process.close_in();
    }
    out_open = out_open && take(process.out(), result.out);
    err_open = err_open && take(process.err(), result.err);
  }
  if (out_open) take(process.out(), result.out);
  if (err_open) take(process.err(), result.err);
  if (!result.timed_out) result.exit_code = process.killed_by() != 0 ? 128 + process.killed_by() : process.exit_code();
  return result;
}

}  // namespace tessera
