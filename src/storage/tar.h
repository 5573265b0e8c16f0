#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/tar_header.h"

namespace tessera {

// A file in a tar archive.
struct TarMember {
  std::string name;
  uint64_t header = 0;  // where what describes it begins, long names included
  uint64_t offset = 0;  // of the content
  uint64_t size = 0;
};

// The regular files of a tar archive in memory, one after the other; folders, links and devices are passed over. Every offset
// and size is checked. `bytes` must outlive the reader.
class TarReader {
 public:
  TarReader(std::span<const uint8_t> bytes, std::string archive)
      : bytes_(bytes), archive_(archive), headers_(std::move(archive)) {}

  // The next file; nothing at the end of the archive. Throws Error where it is damaged or cut.
  std::optional<TarMember> next();

  // Where the next header would be.
  uint64_t position() const { return at_; }

 private:
  std::span<const uint8_t> block_at(uint64_t offset) const;
  std::span<const uint8_t> content(uint64_t size) const;

  std::span<const uint8_t> bytes_;
  std::string archive_;
  TarHeaders headers_;
  uint64_t at_ = 0;
};

// What a file takes in an archive that put_tar_member writes.
uint64_t tar_member_bytes(const std::string& name, uint64_t size);

// Appends a file to an archive: ustar, and a pax header where the name does not fit. Its time, owner and permissions are always
// the same, so that the archive is a function of names and contents.
void put_tar_member(std::vector<uint8_t>& archive, const std::string& name, std::span<const uint8_t> content);

// The two empty blocks at the end.
void end_tar(std::vector<uint8_t>& archive);

}  // namespace tessera
