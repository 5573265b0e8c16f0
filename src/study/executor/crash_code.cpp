#include "study/executor/crash_code.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "study/executor/job_files.h"

namespace tessera {
namespace {

// What a signal handler may read: made before it is needed. Empty: there is no job.
std::array<char, 4096> code_file{};
std::array<char, size_t{64} << 10> stack{};  // for a crash by a stack that is full

// System calls alone are allowed here.
void leave_code(int signal) {
  const int file = code_file[0] == 0 ? -1 : open(code_file.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file >= 0) {
    const int code = 128 + signal;  // three digits
    const std::array<char, 4> text = {static_cast<char>('0' + code / 100), static_cast<char>('0' + code / 10 % 10),
                                      static_cast<char>('0' + code % 10), '\n'};
    if (write(file, text.data(), text.size()) < 0) unlink(code_file.data());
    close(file);
  }
  raise(signal);  // whose handler is the default one by now
}

}  // namespace

CrashCode::CrashCode(const std::filesystem::path& job_folder) {
  const std::string file = (job_folder / kJobExitCode).string();
  if (file.size() < code_file.size()) std::memcpy(code_file.data(), file.c_str(), file.size() + 1);
  stack_t used{};
  if (sigaltstack(nullptr, &used) == 0 && (used.ss_flags & SS_DISABLE) != 0) {
    const stack_t own = {.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
    sigaltstack(&own, nullptr);
  }
  struct sigaction action {};
  action.sa_handler = leave_code;
  action.sa_flags = SA_ONSTACK | SA_NODEFER | static_cast<int>(SA_RESETHAND);
  for (size_t i = 0; i < kCrashes.size(); ++i) {
    sigaction(kCrashes[i], nullptr, &before_[i]);
    // A sanitizer's own handler says more.
    if (before_[i].sa_handler == SIG_DFL) sigaction(kCrashes[i], &action, nullptr);
  }
}

CrashCode::~CrashCode() {
  for (size_t i = 0; i < kCrashes.size(); ++i) {
    if (before_[i].sa_handler == SIG_DFL) sigaction(kCrashes[i], &before_[i], nullptr);
  }
  code_file[0] = 0;
}

}  // namespace tessera
