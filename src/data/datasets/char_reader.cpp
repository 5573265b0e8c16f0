#include "data/datasets/char_reader.h"

#include <algorithm>

#include "core/error.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

CharReader::CharReader(const fs::path& path) : buffer_(kBufferBytes) {
  if (is_archived(path)) {
    archived_ = read_file(path);
    refill();
    return;
  }
  file_.open(path, std::ios::binary);
  TSR_CHECK(fs::exists(path), "no such file: {}", path.string());
  TSR_CHECK(fs::is_regular_file(path), "{} is not a file", path.string());
  TSR_CHECK(file_.is_open(), "cannot read {}", path.string());
  refill();
}

void CharReader::advance() {
  if (++at_ == filled_) refill();
}

void CharReader::refill() {
  base_ += static_cast<int64_t>(filled_);
  at_ = 0;
  if (archived_.owner) {
    filled_ = std::min(buffer_.size(), archived_.size() - static_cast<size_t>(base_));
    std::copy_n(archived_.bytes.begin() + base_, filled_, buffer_.begin());
    return;
  }
  file_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  filled_ = static_cast<size_t>(file_.gcount());
}

std::string read_range(const fs::path& path, int64_t offset, int64_t length) {
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<size_t>(length), '\0');
  file.seekg(offset);
  file.read(text.data(), length);
  TSR_CHECK(file.gcount() == length, "{} has become shorter or unreadable since it was opened", path.string());
  return text;
}

}  // namespace tessera
