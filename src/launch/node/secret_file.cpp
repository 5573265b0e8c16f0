#include "launch/node/secret_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace tessera {

SecretFile::SecretFile(const std::string& secret) : file_(memfd_create("tessera-job-secret", MFD_CLOEXEC)) {
  TSR_CHECK(file_.open() && fchmod(file_.fd(), 0400) == 0 &&
                write(file_.fd(), secret.data(), secret.size()) == static_cast<ssize_t>(secret.size()),
            "cannot make memory for the job's secret: {}", std::strerror(errno));
}

std::string SecretFile::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), file_.fd());
}

}  // namespace tessera
