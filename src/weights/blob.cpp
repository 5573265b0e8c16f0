#include "weights/blob.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "weights/read_ahead.h"

namespace tessera {
namespace {

// A mapped file, and what reads it ahead where it is not in memory yet.
class Mapping {
 public:
  Mapping(int file, void* start, size_t size) : file_(file), start_(start), size_(size) {
    if (ReadAhead::pays(start, size)) ahead_.emplace(file, size);
  }
  ~Mapping() {
    ahead_.reset();
    ::munmap(start_, size_);
    ::close(file_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  int file_;
  void* start_;
  size_t size_;
  std::optional<ReadAhead> ahead_;
};

}  // namespace

Blob own_bytes(std::vector<uint8_t> bytes) {
  const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return {*owner, owner};
}

Blob map_file(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  TSR_CHECK(file >= 0, "cannot read {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<size_t>(known ? status.st_size : 0);
  void* start = size > 0 ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0) : MAP_FAILED;
  if (start == MAP_FAILED) {  // pipes, empty files and file systems that cannot map are read in the plain way
    ::close(file);
    return own_bytes(read_bytes(path));
  }
  const auto mapping = std::make_shared<const Mapping>(file, start, size);
  return {{static_cast<const uint8_t*>(start), size}, mapping};
}

}  // namespace tessera
