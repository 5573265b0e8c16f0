#include "data/datasets/char_reader.h"

#include "core/error.h"

namespace tessera {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

CharReader::CharReader(const fs::path& path) : file_(path, std::ios::binary), buffer_(kBufferBytes) {
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
