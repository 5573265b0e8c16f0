#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/blob.h"

namespace tessera {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  uint64_t offset = 0;  // of the data
  uint64_t stored = 0;  // bytes in the file
  uint64_t size = 0;    // bytes of the content
};

// The directory of a ZIP file (stored and deflated entries, zip64), read from its end. Every offset and size is checked
// against the file before use and entries may not overlap, so a small file cannot pose as a large one. Throws Error.
class Zip {
 public:
  Zip(Blob file, std::string name);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(const std::string& name) const;

  // The content. Stored entries lie on the file itself; deflated ones are unpacked and checked against their checksum.
  // (Checksums of stored entries are not looked at: torch.save can be told to leave them wrong.)
  Blob read(const ZipEntry& entry);

  // The same for archives of any files, from many threads: checksums of stored entries are compared too, and what entries
  // unpack to together is not looked at, only the size of each: `most` bytes.
  Blob read_checked(const ZipEntry& entry, uint64_t most) const;

 private:
  Blob inflate(const ZipEntry& entry) const;
  void check_crc(const ZipEntry& entry, std::span<const uint8_t> content) const;

  Blob file_;
  std::string name_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string, size_t> index_;
  uint64_t unpacked_ = 0;
};

bool looks_like_zip(std::span<const uint8_t> bytes);

}  // namespace tessera
