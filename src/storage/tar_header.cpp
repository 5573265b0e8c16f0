#include "storage/tar_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "storage/tar_fields.h"

namespace tessera {
namespace {

using Block = std::span<const uint8_t>;

constexpr uint64_t kMostHeaderText = 1 << 20;  // of a long name or a pax header

std::string_view text_of(Block block, TarField field) {
  const std::string_view whole(reinterpret_cast<const char*>(block.data()) + field.offset, field.length);
  return whole.substr(0, whole.find('\0'));
}

// Octal digits between spaces, or GNU's form for large numbers: the first bit is set and the rest is the number.
std::optional<uint64_t> number_of(Block block, TarField field) {
  const Block digits = block.subspan(field.offset, field.length);
  if ((digits[0] & 0x80U) != 0) {
    uint64_t value = digits[0] & 0x7FU;
    for (size_t i = 1; i < digits.size(); ++i) {
      if (value >> 56 != 0) return std::nullopt;
      value = value << 8 | digits[i];
    }
    return value;
  }
  std::string_view text = text_of(block, field);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find(' '));
  if (text.empty()) return 0;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// The sum of all bytes, those of the checksum itself counted as spaces. Some old writers summed signed ones.
bool checksum_fits(Block block) {
  int64_t unsigned_sum = 0, signed_sum = 0;
  for (size_t i = 0; i < kTarBlock; ++i) {
    const bool own = i >= kTarChecksum.offset && i < kTarChecksum.offset + kTarChecksum.length;
    const uint8_t byte = own ? uint8_t{' '} : block[i];
    unsigned_sum += byte;
    signed_sum += static_cast<int8_t>(byte);
  }
  const auto stored = number_of(block, kTarChecksum);
  return stored && (static_cast<int64_t>(*stored) == unsigned_sum || static_cast<int64_t>(*stored) == signed_sum);
}

std::string name_of(Block block) {
  std::string name(text_of(block, kTarName));
  const std::string_view prefix = text_of(block, kTarPrefix);
  const bool posix = std::memcmp(block.data() + kTarMagic.offset, kUstar.data(), kUstar.size()) == 0;
  return posix && !prefix.empty() ? std::string(prefix) + "/" + name : name;
}

TarEntry::Kind kind_of(char type, const std::string& name) {
  const bool is_file = type == '0' || type == '\0' || type == '7';
  if (type == '5' || (is_file && name.ends_with('/'))) return TarEntry::Kind::kFolder;
  if (is_file) return TarEntry::Kind::kFile;
  return type == '1' || type == '2' ? TarEntry::Kind::kLink : TarEntry::Kind::kOther;
}

// Types whose header alone is there, whatever its size says.
bool has_no_content(char type) {
  return type >= '1' && type <= '6';
}

}  // namespace

// Records "LENGTH KEY=VALUE\n"; the length counts itself and the line end.
void TarHeaders::read_pax(std::string_view text) {
  while (!text.empty() && text.front() != '\0') {
    size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<size_t>(end - text.data());
    TSR_CHECK(
        error == std::errc() && length <= text.size() && digits + 2 < length && text[digits] == ' ' && text[length - 1] == '\n',
        "{} is damaged: a pax header in it is broken", archive_);
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const size_t equals = record.find('=');
    TSR_CHECK(equals != std::string_view::npos, "{} is damaged: a pax header in it is broken", archive_);
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    TSR_CHECK(!key.starts_with("GNU.sparse."), "{} holds a sparse file, which is not read; write it without --sparse",
              archive_);
    if (key == "path") name_ = std::string(value);
    if (key == "size") {
      uint64_t size = 0;
      const auto [last, fault] = std::from_chars(value.data(), value.data() + value.size(), size);
      TSR_CHECK(fault == std::errc() && last == value.data() + value.size(), "{} is damaged: a pax header in it is broken",
                archive_);
      size_ = size;
    }
  }
}

void TarHeaders::extend(std::string_view text) {
  if (type_ == 'x') read_pax(text);
  if (type_ == 'L') name_ = std::string(text.substr(0, text.find('\0')));
}

TarHeaders::Found TarHeaders::take(std::span<const uint8_t> block, uint64_t at) {
  if (std::all_of(block.begin(), block.end(), [](uint8_t byte) { return byte == 0; })) {
    TSR_CHECK(!begin_, "{} is damaged: a long name at byte {} belongs to no file", archive_, *begin_);
    return Found::kEnd;
  }
  TSR_CHECK(checksum_fits(block), "{} is damaged: the checksum of the header at byte {} does not match{}", archive_, at,
            at == 0 ? "; is it a tar archive?" : "");
  type_ = static_cast<char>(block[kTarType.offset]);
  const std::optional<uint64_t> own_size = number_of(block, kTarSize);
  TSR_CHECK(own_size.has_value(), "{} is damaged: the size in the header at byte {} is no number", archive_, at);
  if (type_ == 'x' || type_ == 'g' || type_ == 'L' || type_ == 'K') {
    TSR_CHECK(*own_size <= kMostHeaderText, "{} is damaged: it has a header of {} bytes", archive_, *own_size);
    if (!begin_) begin_ = at;
    text_bytes_ = *own_size;
    return Found::kText;
  }
  TSR_CHECK(type_ != 'S', "{} holds a sparse file, which is not read; write it without --sparse", archive_);
  entry_.name = name_ ? *std::exchange(name_, std::nullopt) : name_of(block);
  entry_.kind = kind_of(type_, entry_.name);
  entry_.size = has_no_content(type_) ? 0 : size_.value_or(*own_size);
  entry_.header = begin_.value_or(at);
  TSR_CHECK(entry_.size <= kMostTarContent, "{} is truncated: the entry at byte {} has {} bytes, more than any archive",
            archive_, at, entry_.size);
  size_.reset();
  begin_.reset();
  return Found::kEntry;
}

bool looks_like_tar(std::span<const uint8_t> bytes) {
  return bytes.size() >= kTarBlock && bytes[0] != 0 && checksum_fits(bytes.first(kTarBlock));
}

}  // namespace tessera
