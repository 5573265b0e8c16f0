#include "launch/node/status_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "core/error.h"

namespace tessera {

StatusFile::StatusFile() : file_(memfd_create("tessera-rank-status", MFD_CLOEXEC)) {
  TSR_CHECK(file_.open() && ftruncate(file_.fd(), sizeof(RankStatus)) == 0, "cannot make memory to share with a rank: {}",
            std::strerror(errno));
  void* memory = mmap(nullptr, sizeof(RankStatus), PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), 0);
  TSR_CHECK(memory != MAP_FAILED, "cannot share memory with a rank: {}", std::strerror(errno));
  status_ = new (memory) RankStatus;
}

StatusFile::~StatusFile() {
  munmap(status_, sizeof(RankStatus));
}

std::string StatusFile::path() const {
  return fmt::format("/proc/self/fd/{}", fd());
}

}  // namespace tessera
