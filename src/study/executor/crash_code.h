#pragma once
#include <array>
#include <csignal>
#include <filesystem>

namespace tessera {

// As long as it lives, a crash of this process (SIGSEGV, SIGABRT and the like) leaves an exit code in the job's folder, as a
// shell would: 128 + the signal. A worker has nobody else to do that when its controller is gone, and its job would count as
// killed. The process then dies of the signal. One at a time.
class CrashCode {
 public:
  explicit CrashCode(const std::filesystem::path& job_folder);
  ~CrashCode();
  CrashCode(const CrashCode&) = delete;
  CrashCode& operator=(const CrashCode&) = delete;

 private:
  static constexpr std::array kCrashes = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
  std::array<struct sigaction, kCrashes.size()> before_{};
};

}  // namespace tessera
