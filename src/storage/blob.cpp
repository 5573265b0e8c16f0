#include "storage/blob.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/descriptor.h"
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

// Private writable memory is promised by the system for all of a file at once, which an archive of 20 GB may be too large for.
Blob map_large_file(const std::filesystem::path& path) {
  const Descriptor file(path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  TSR_CHECK(file.ok() && ::fstat(file.get(), &status) == 0, "cannot read {}: {}", path.string(), std::strerror(errno));
  TSR_CHECK(S_ISREG(status.st_mode) && status.st_size > 0, "cannot read {}: it is {}", path.string(),
            S_ISREG(status.st_mode) ? "empty" : "no file");
  const auto size = static_cast<size_t>(status.st_size);
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  TSR_CHECK(start != MAP_FAILED, "cannot map {}: {}", path.string(), std::strerror(errno));
  const std::shared_ptr<const Mapping> mapping(new Mapping{start, size});
  return {{static_cast<const uint8_t*>(start), size}, mapping};
}

}  // namespace tessera
