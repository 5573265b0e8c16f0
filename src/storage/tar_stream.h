#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "storage/tar_header.h"

namespace tessera {

// The entries of a tar archive as they come, from a source that can only go on. Throws Error, also where the archive ends
// before its end mark.
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

  Source source_;
  std::string name_;
  TarHeaders headers_;
  uint64_t at_ = 0;                  // bytes that came
  uint64_t left_ = 0, padding_ = 0;  // of the present entry
};

}  // namespace tessera
