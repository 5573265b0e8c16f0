#pragma once
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>

#include "core/error.h"
#include "core/new_file.h"

namespace tessera {

// Writes all of `bytes` at byte `offset` of an open file. False: errno says why not.
inline bool put_all_at(const Descriptor& file, int64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file.get(), bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += put;
  }
  return true;
}

// The same. Throws Error, which names `path`.
inline void write_at(const Descriptor& file, int64_t offset, std::span<const uint8_t> bytes,
                     const std::filesystem::path& path) {
  TSR_CHECK(put_all_at(file, offset, bytes), "cannot write {}: {}", path.string(), std::strerror(errno));
}

}  // namespace tessera
