#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace tessera {

// Bytes and whatever keeps them alive: a mapped file, or a buffer. Parts of it share the owner, so a tensor can lie directly
// on a file's pages.
struct Blob {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;

  size_t size() const { return bytes.size(); }
  Blob part(size_t offset, size_t length) const { return {bytes.subspan(offset, length), owner}; }
};

// The whole file, mapped: pages are read when touched, and writing to them changes the memory, never the file. The file must
// not be shortened while the blob lives. Throws Error with the path and the system's reason.
Blob map_file(const std::filesystem::path& path);

// The same for files that may be larger than memory, such as archives: read only, shared with the system's cache, not read
// ahead.
Blob map_large_file(const std::filesystem::path& path);

Blob own_bytes(std::vector<uint8_t> bytes);

}  // namespace tessera
