#include "report/run_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/new_file.h"
#include "core/secrets.h"

namespace tessera {
namespace {

double unix_seconds() {
  return std::floor(unix_s() * 1000) / 1000;  // a line of the log shows milliseconds
}

bool ends_without_newline(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

// Paths and messages may hold what a config took from a secret variable.
void leave_out_secrets(nlohmann::json& value) {
  if (value.is_string()) value = without_secrets(value.get_ref<const std::string&>());
  if (!value.is_structured()) return;
  for (nlohmann::json& item : value) leave_out_secrets(item);
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& path, Access access) : path_(path), access_(access) {
  open();
}

RunLog::~RunLog() {
  ::close(fd_);
}

void RunLog::open() {
  fd_ = ::open(follow_links(path_).c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, file_mode(access_));
  TSR_CHECK(fd_ >= 0, "cannot open the run log {}: {}", path_.string(), std::strerror(errno));
  torn_ = ends_without_newline(fd_);
}

// Lines for a file that somebody removed, alone or with its folder, would reach nobody.
void RunLog::open_again_if_gone() {
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || info.st_nlink > 0) return;
  ::close(std::exchange(fd_, -1));
  make_folders(path_.parent_path(), access_);
  open();
}

void RunLog::event(const std::string& type, nlohmann::json fields) {
  if (fields.is_null()) fields = nlohmann::json::object();
  leave_out_secrets(fields);
  fields["type"] = type;
  fields["time"] = unix_seconds();
  std::string line = json_text(fields) + "\n";

  const std::lock_guard lock(mutex_);
  open_again_if_gone();
  if (torn_) line.insert(line.begin(), '\n');
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t put = ::write(fd_, line.data() + done, line.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const std::string why = std::strerror(errno);
      if (done > 0) torn_ = true;
      fail("cannot append to the run log {}: {}", path_.string(), why);
    }
    done += static_cast<size_t>(put);
  }
  torn_ = false;
}

}  // namespace tessera
