#pragma once
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/files.h"
#include "storage/blob.h"

namespace tessera {

// Characters of a large file one after the other, in bounded memory, with the offset of the next one. Lets a streaming JSON
// parser note where in the file a value lies, so that it can be read again when needed instead of being kept.
class CharReader {
 public:
  explicit CharReader(const fs::path& path);  // throws Error if it cannot be opened

  bool at_end() const { return at_ == filled_; }
  char peek() const { return buffer_[at_]; }
  void advance();
  int64_t offset() const { return base_ + static_cast<int64_t>(at_); }

 private:
  void refill();

  std::ifstream file_;
  Blob archived_;  // in the place of file_
  std::vector<char> buffer_;
  size_t at_ = 0;
  size_t filled_ = 0;
  int64_t base_ = 0;  // file offset of buffer_[0]
};

// The input iterator over a CharReader that nlohmann::json asks for. All copies share the reader's position.
class CharIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  CharIterator() = default;  // the end
  explicit CharIterator(CharReader& reader) : reader_(&reader) {}

  char operator*() const { return reader_->peek(); }
  CharIterator& operator++() {
    reader_->advance();
    return *this;
  }
  bool operator==(const CharIterator& other) const { return done() == other.done(); }
  bool operator!=(const CharIterator& other) const { return !(*this == other); }

 private:
  bool done() const { return reader_ == nullptr || reader_->at_end(); }
  CharReader* reader_ = nullptr;
};

// `length` bytes of a file from `offset` on. Throws Error if they are not there any more.
std::string read_range(const fs::path& path, int64_t offset, int64_t length);

}  // namespace tessera
