#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

inline constexpr size_t kTarBlock = 512;

// What follows a header is padded to whole blocks.
constexpr uint64_t tar_padded(uint64_t size) {
  return (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

struct TarEntry {
  enum class Kind { kFile, kFolder, kLink, kOther };
  std::string name;
  Kind kind = Kind::kFile;
  uint64_t size = 0;    // of its content
  uint64_t header = 0;  // where what describes it begins, long names included
};

// The headers of a tar archive, block by block: POSIX ustar, pax (long names, large sizes) and GNU (the same in its own way).
// Every checksum and number is checked. Throws Error, which names the archive.
class TarHeaders {
 public:
  explicit TarHeaders(std::string archive) : archive_(std::move(archive)) {}

  enum class Found { kEnd, kText, kEntry };

  // The block at byte `at`, of kTarBlock bytes. kText: text_bytes() follow, padded, which extend() has to be given; then comes
  // another header. kEntry: see entry(), whose content follows.
  Found take(std::span<const uint8_t> block, uint64_t at);
  uint64_t text_bytes() const { return text_bytes_; }
  void extend(std::string_view text);
  TarEntry& entry() { return entry_; }

 private:
  void read_pax(std::string_view text);

  std::string archive_;
  // Of headers before a file's own, what they say about it.
  std::optional<std::string> name_;
  std::optional<uint64_t> size_;
  std::optional<uint64_t> begin_;  // of the first of them
  char type_ = 0;
  uint64_t text_bytes_ = 0;
  TarEntry entry_;
};

// Whether these first bytes are those of a tar archive.
bool looks_like_tar(std::span<const uint8_t> bytes);

}  // namespace tessera
