#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace tessera {

struct TarEntry {
  enum class Kind { kFile, kFolder, kLink, kOther };
  std::string name;
  Kind kind = Kind::kFile;
  uint64_t size = 0;
};

// The entries of a tar file (ustar, pax, GNU's long names) as they come, from a source that can only go on. Every header is
// checked. Throws Error, also where the file ends before its end mark.
class TarStream {
 public:
  // Puts up to `most` bytes to `to`; 0 at the end. Throws Error.
  using Source = std::function<size_t(uint8_t* to, size_t most)>;

  TarStream(Source source, std::string name);

  // The next entry; what was not read of the one before is passed over. Nothing at the end of the archive.
  std::optional<TarEntry> next();

  // Up to `to.size()` bytes of the entry's content; 0 at its end.
  size_t read(std::span<uint8_t> to);

 private:
  void read_whole(std::span<uint8_t> to);
  void pass_over_rest();
  std::string read_extension(uint64_t size);

  Source source_;
  std::string name_;
  uint64_t left_ = 0, padding_ = 0;  // of the present entry
};

// Whether these first bytes (512 or more) are a tar header.
bool looks_like_tar(std::span<const uint8_t> bytes);

}  // namespace tessera
