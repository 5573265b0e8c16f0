#include "storage/tar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "core/error.h"
#include "core/printable.h"

namespace tessera {
namespace {

// Where the fields of a header are.
struct Field {
  size_t offset, length;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12}, kChecksum{148, 8},
    kType{156, 1}, kMagic{257, 6}, kVersion{263, 2}, kPrefix{345, 155};
constexpr uint64_t kMostHeaderText = 1 << 20;      // of a long name or a pax header
constexpr uint64_t kMostOctal = (1ULL << 33) - 1;  // eleven octal digits
constexpr std::string_view kUstar("ustar\0", 6);

using Block = std::span<const uint8_t>;

std::string_view text_of(Block block, Field field) {
  const std::string_view whole(reinterpret_cast<const char*>(block.data()) + field.offset, field.length);
  return whole.substr(0, whole.find('\0'));
}

uint64_t padded(uint64_t size) {
  return (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

bool is_empty(Block block) {
  return std::all_of(block.begin(), block.end(), [](uint8_t byte) { return byte == 0; });
}

// Octal digits between spaces, or GNU's form for large numbers: the first bit is set and the rest is the number.
std::optional<uint64_t> number_of(Block block, Field field) {
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
    const bool own = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.length;
    const uint8_t byte = own ? uint8_t{' '} : block[i];
    unsigned_sum += byte;
    signed_sum += static_cast<int8_t>(byte);
  }
  const auto stored = number_of(block, kChecksum);
  return stored && (static_cast<int64_t>(*stored) == unsigned_sum || static_cast<int64_t>(*stored) == signed_sum);
}

// What headers before a file's own say about it.
struct Overrides {
  std::optional<std::string> name;
  std::optional<uint64_t> size;
};

// Records "LENGTH KEY=VALUE\n"; the length counts itself and the line end.
void read_pax(std::string_view text, Overrides& found, const std::string& archive) {
  while (!text.empty() && text.front() != '\0') {
    size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<size_t>(end - text.data());
    TSR_CHECK(
        error == std::errc() && length <= text.size() && digits + 2 < length && text[digits] == ' ' && text[length - 1] == '\n',
        "{} is damaged: a pax header in it is broken", archive);
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const size_t equals = record.find('=');
    TSR_CHECK(equals != std::string_view::npos, "{} is damaged: a pax header in it is broken", archive);
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    TSR_CHECK(!key.starts_with("GNU.sparse."), "{} holds a sparse file, which is not read; write it without --sparse", archive);
    if (key == "path") found.name = std::string(value);
    if (key == "size") {
      uint64_t size = 0;
      const auto [last, fault] = std::from_chars(value.data(), value.data() + value.size(), size);
      TSR_CHECK(fault == std::errc() && last == value.data() + value.size(), "{} is damaged: a pax header in it is broken",
                archive);
      found.size = size;
    }
  }
}

std::string name_of(Block block) {
  std::string name(text_of(block, kName));
  const std::string_view prefix = text_of(block, kPrefix);
  const bool posix = std::memcmp(block.data() + kMagic.offset, kUstar.data(), kUstar.size()) == 0;
  return posix && !prefix.empty() ? std::string(prefix) + "/" + name : name;
}

bool is_file(uint8_t type) {
  return type == '0' || type == '\0' || type == '7';
}

// Types whose header alone is there, whatever its size says.
bool has_no_content(uint8_t type) {
  return type >= '1' && type <= '6';
}

}  // namespace

std::span<const uint8_t> TarReader::block_at(uint64_t offset) const {
  TSR_CHECK(offset <= bytes_.size() && bytes_.size() - offset >= kTarBlock,
            "{} is truncated: it ends at byte {} without the empty block that ends an archive", archive_, bytes_.size());
  return bytes_.subspan(offset, kTarBlock);
}

// Of the entry whose header is at at_.
std::span<const uint8_t> TarReader::content(uint64_t size) const {
  const uint64_t begin = at_ + kTarBlock, left = bytes_.size() - begin;
  TSR_CHECK(size <= left && padded(size) <= left, "{} is truncated: the entry at byte {} has {} bytes, {} are left", archive_,
            at_, size, left);
  return bytes_.subspan(begin, size);
}

std::optional<TarMember> TarReader::next() {
  Overrides overrides;
  const uint64_t first = at_;
  uint64_t header = first;
  while (true) {
    const Block block = block_at(at_);
    if (is_empty(block)) {
      TSR_CHECK(header == at_, "{} is damaged: a long name at byte {} belongs to no file", archive_, header);
      return std::nullopt;
    }
    TSR_CHECK(checksum_fits(block), "{} is damaged: the checksum of the header at byte {} does not match{}", archive_, at_,
              at_ == 0 ? "; is it a tar archive?" : "");
    const uint8_t type = block[kType.offset];
    const std::optional<uint64_t> own_size = number_of(block, kSize);
    TSR_CHECK(own_size.has_value(), "{} is damaged: the size in the header at byte {} is no number", archive_, at_);
    if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
      const Block bytes = content(*own_size);
      TSR_CHECK(bytes.size() <= kMostHeaderText, "{} is damaged: it has a header of {} bytes", archive_, bytes.size());
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (type == 'x') read_pax(text, overrides, archive_);
      if (type == 'L') overrides.name = std::string(text.substr(0, text.find('\0')));
      at_ += kTarBlock + padded(bytes.size());
      continue;
    }
    const uint64_t size = has_no_content(type) ? 0 : overrides.size.value_or(*own_size);
    content(size);
    TarMember member{overrides.name.value_or(name_of(block)), header, at_ + kTarBlock, size};
    at_ += kTarBlock + padded(size);
    if (is_file(type) && !member.name.ends_with('/')) return member;
    TSR_CHECK(type != 'S', "{} holds a sparse file, which is not read; write it without --sparse", archive_);
    overrides = {};
    header = at_;
  }
}

namespace {

void put_text(std::span<uint8_t> block, Field field, std::string_view text) {
  std::memcpy(block.data() + field.offset, text.data(), std::min(text.size(), field.length));
}

void put_octal(std::span<uint8_t> block, Field field, uint64_t value) {
  put_text(block, field, fmt::format("{:0{}o}", value, field.length - 1));
}

void put_header(std::vector<uint8_t>& archive, std::string_view prefix, std::string_view name, uint64_t size, char type) {
  std::array<uint8_t, kTarBlock> block{};
  put_text(block, kName, name);
  put_octal(block, kMode, 0644);
  put_octal(block, kUser, 0);
  put_octal(block, kGroup, 0);
  put_octal(block, kSize, size);
  put_octal(block, kTime, 0);
  put_text(block, kChecksum, "        ");
  block[kType.offset] = static_cast<uint8_t>(type);
  put_text(block, kMagic, kUstar);
  put_text(block, kVersion, "00");
  put_text(block, kPrefix, prefix);
  unsigned sum = 0;
  for (const uint8_t byte : block) sum += byte;
  put_text(block, kChecksum, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  archive.insert(archive.end(), block.begin(), block.end());
}

void put_content(std::vector<uint8_t>& archive, std::span<const uint8_t> content) {
  archive.insert(archive.end(), content.begin(), content.end());
  archive.resize(padded(archive.size()));
}

struct SplitName {
  std::string_view prefix, name;
};

// A name of ustar lies in two fields, cut at a '/'. Nothing where it does not fit.
std::optional<SplitName> ustar_name(std::string_view name) {
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii) return std::nullopt;
  if (name.size() <= kName.length) return SplitName{"", name};
  const size_t cut = name.rfind('/', kPrefix.length);
  if (cut == std::string_view::npos || cut == 0 || name.size() - cut - 1 > kName.length || name.size() == cut + 1)
    return std::nullopt;
  return SplitName{name.substr(0, cut), name.substr(cut + 1)};
}

std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size();
  while (std::to_string(length).size() + rest.size() != length) length = std::to_string(length).size() + rest.size();
  return std::to_string(length) + rest;
}

}  // namespace

uint64_t tar_member_bytes(const std::string& name, uint64_t size) {
  const uint64_t pax = ustar_name(name) ? 0 : kTarBlock + padded(pax_record("path", name).size());
  return pax + kTarBlock + padded(size);
}

void put_tar_member(std::vector<uint8_t>& archive, const std::string& name, std::span<const uint8_t> content) {
  TSR_CHECK(content.size() <= kMostOctal, "{} has {} bytes, too many for a tar archive", printable(name), content.size());
  const std::optional<SplitName> fitting = ustar_name(name);
  if (!fitting) {
    const std::string pax = pax_record("path", name);
    put_header(archive, "", "PaxHeader", pax.size(), 'x');
    put_content(archive, {reinterpret_cast<const uint8_t*>(pax.data()), pax.size()});
  }
  // Who knows no pax reads the end of the name.
  const SplitName own =
      fitting.value_or(SplitName{"", std::string_view(name).substr(name.size() - std::min(name.size(), kName.length))});
  put_header(archive, own.prefix, own.name, content.size(), '0');
  put_content(archive, content);
}

void end_tar(std::vector<uint8_t>& archive) {
  archive.resize(archive.size() + 2 * kTarBlock);
}

}  // namespace tessera
