#include "storage/blob.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "storage/read_through.h"

namespace tessera {
namespace {

struct Mapping {
  void* start;
  size_t size;
  ~Mapping() { ::munmap(start, size); }
};

}  // namespace

Blob own_bytes(std::vector<uint8_t> bytes) {
  const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return {*owner, owner};
}

Blob map_file(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe without a writer is no reason to wait
  TSR_CHECK(file >= 0, "cannot read {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<size_t>(known ? status.st_size : 0);
  void* start = size > 0 ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0) : MAP_FAILED;
  if (start ==
      MAP_FAILED) {  // empty files and file systems that cannot map are read in the plain way; devices are refused there
    ::close(file);
    return own_bytes(read_bytes(path));
  }
  read_through(file, start, size);
  ::close(file);
  const std::shared_ptr<const Mapping> mapping(new Mapping{start, size});
  return {{static_cast<const uint8_t*>(start), size}, mapping};
}

}  // namespace tessera
