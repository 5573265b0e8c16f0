#include "launch/node/rank_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/access.h"
#include "core/error.h"
#include "core/log.h"
#include "core/new_file.h"

namespace tessera {
namespace {

constexpr size_t kLongestLine = 4000;  // more without a line end is passed on in pieces

// Failures are for the caller to judge; a closed terminal must not end the ranks.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// A rank prints what its config says, so a new log is as private as a run (core/access.h). One that is there must be this
// user's, or a device: another user's file or pipe would hand him what ranks print, and a pipe that nobody reads would stop
// them.
FileHandle open_log(const fs::path& path, bool append) {
  const fs::path real = follow_links(path);
  const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (append ? O_APPEND : 0);
  FileHandle log(open(real.c_str(), flags, file_mode(access_at(real.parent_path()))));
  const auto cannot = [&](const std::string& why) {
    fail("cannot write {}: {}; choose another folder with --log-dir", path.string(), why);
  };
  if (!log.open()) cannot(std::strerror(errno));
  struct stat about {};
  if (fstat(log.fd(), &about) != 0) cannot(std::strerror(errno));
  const bool file = S_ISREG(about.st_mode);
  if (!S_ISCHR(about.st_mode) && about.st_uid != geteuid()) cannot("it belongs to another user");
  if (file && about.st_nlink != 1) cannot("it is a second name of a file that lies elsewhere");
  if (file && !append && ftruncate(log.fd(), 0) != 0) cannot(std::strerror(errno));
  fcntl(log.fd(), F_SETFL, fcntl(log.fd(), F_GETFL) & ~O_NONBLOCK);
  return log;
}

}  // namespace

fs::path rank_log_path(const fs::path& folder, int rank) {
  return folder / fmt::format("rank-{:02}.log", rank);
}

RankOutput::RankOutput(int rank, const fs::path& log, bool append, Show show) : rank_(rank), log_path_(log), show_(show) {
  std::error_code error;
  fs::create_directories(log.parent_path(), error);
  log_ = open_log(log, append);
}

bool RankOutput::take(int fd, bool is_error) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    Stream& stream = streams_[is_error ? 1 : 0];
    if (got == 0) {
      if (show_ == Show::kPrefixed && !stream.pending.empty()) show(stream.pending, is_error);
      if (!stream.pending.empty()) stream.last = std::exchange(stream.pending, "");
      return false;
    }
    const std::string_view text(buffer.data(), static_cast<size_t>(got));
    write_log(text);
    if (show_ == Show::kPlain) write_all(is_error ? STDERR_FILENO : STDOUT_FILENO, text);
    stream.pending += text;
    for (size_t end = 0; (end = stream.pending.find('\n')) != std::string::npos || stream.pending.size() > kLongestLine;) {
      const std::string line = stream.pending.substr(0, std::min(end, kLongestLine));
      stream.pending.erase(0, line.size() + (end == line.size() ? 1 : 0));
      if (show_ == Show::kPrefixed) show(line, is_error);
      if (!line.empty()) stream.last = line;
    }
  }
}

void RankOutput::show(std::string_view text, bool is_error) {
  write_all(is_error ? STDERR_FILENO : STDOUT_FILENO, fmt::format("[rank {}] {}\n", rank_, text));
}

void RankOutput::write_log(std::string_view text) {
  if (!log_.open() || write_all(log_.fd(), text)) return;
  log_warn("{}: {}; the rank's output is no longer kept", log_path_.string(), std::strerror(errno));
  log_.close();
}

std::string RankOutput::last_line() const {
  for (const Stream* stream : {&streams_[1], &streams_[0]}) {
    if (!stream->pending.empty()) return stream->pending;
    if (!stream->last.empty()) return stream->last;
  }
  return "";
}

}  // namespace tessera
