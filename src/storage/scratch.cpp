#include "storage/scratch.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "storage/cache_folder.h"

namespace tessera {
namespace {

struct Mapping {
  void* start = MAP_FAILED;
  size_t size = 0;
  ~Mapping() {
    if (start != MAP_FAILED) ::munmap(start, size);
  }
};

// Not ok where a file cannot be had. Its space is taken now: a disk that fills up later would end the process at a write.
Descriptor nameless_file(size_t size) {
  try {
    const std::filesystem::path folder = cache_folder();
    make_folders(folder);
    Descriptor file(folder, O_TMPFILE | O_RDWR, S_IRUSR | S_IWUSR);
    if (file.ok() && ::posix_fallocate(file.get(), 0, static_cast<off_t>(size)) == 0) return file;
  } catch (const Error&) {
    return {};
  }
  return {};
}

}  // namespace

Blob make_scratch(size_t size, const std::function<void(std::span<uint8_t>)>& fill) {
  if (size == 0) {
    fill({});
    return own_bytes({});
  }
  const auto mapping = std::make_shared<Mapping>();
  mapping->size = size;
  if (const Descriptor file = nameless_file(size); file.ok())
    mapping->start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapping->start == MAP_FAILED)
    mapping->start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TSR_CHECK(mapping->start != MAP_FAILED, "no memory for {} bytes: {}", size, std::strerror(errno));
  const std::span bytes(static_cast<uint8_t*>(mapping->start), size);
  fill(bytes);
  return {bytes, mapping};
}

}  // namespace tessera
