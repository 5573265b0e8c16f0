#include "storage/tar.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/printable.h"
#include "storage/tar_fields.h"

namespace tessera {

std::span<const uint8_t> TarReader::block_at(uint64_t offset) const {
  TSR_CHECK(offset <= bytes_.size() && bytes_.size() - offset >= kTarBlock,
            "{} is truncated: it ends at byte {} without the empty block that ends an archive", archive_, bytes_.size());
  return bytes_.subspan(offset, kTarBlock);
}

// Of the entry whose header is at at_.
std::span<const uint8_t> TarReader::content(uint64_t size) const {
  const uint64_t begin = at_ + kTarBlock, left = bytes_.size() - begin;
  TSR_CHECK(size <= left && tar_padded(size) <= left, "{} is truncated: the entry at byte {} has {} bytes, {} are left",
            archive_, at_, size, left);
  return bytes_.subspan(begin, size);
}

std::optional<TarMember> TarReader::next() {
  while (true) {
    switch (headers_.take(block_at(at_), at_)) {
      case TarHeaders::Found::kEnd: return std::nullopt;
      case TarHeaders::Found::kText: {
        const std::span<const uint8_t> text = content(headers_.text_bytes());
        headers_.extend({reinterpret_cast<const char*>(text.data()), text.size()});
        at_ += kTarBlock + tar_padded(text.size());
        break;
      }
      case TarHeaders::Found::kEntry: {
        TarEntry& entry = headers_.entry();
        content(entry.size);
        TarMember member{std::move(entry.name), entry.header, at_ + kTarBlock, entry.size};
        at_ += kTarBlock + tar_padded(entry.size);
        if (entry.kind == TarEntry::Kind::kFile) return member;
      }
    }
  }
}

namespace {

constexpr uint64_t kMostOctal = (1ULL << 33) - 1;  // eleven octal digits

void put_text(std::span<uint8_t> block, TarField field, std::string_view text) {
  std::memcpy(block.data() + field.offset, text.data(), std::min(text.size(), field.length));
}

void put_octal(std::span<uint8_t> block, TarField field, uint64_t value) {
  put_text(block, field, fmt::format("{:0{}o}", value, field.length - 1));
}

void put_header(std::vector<uint8_t>& archive, std::string_view prefix, std::string_view name, uint64_t size, char type) {
  std::array<uint8_t, kTarBlock> block{};
  put_text(block, kTarName, name);
  put_octal(block, kTarMode, 0644);
  put_octal(block, kTarUser, 0);
  put_octal(block, kTarGroup, 0);
  put_octal(block, kTarSize, size);
  put_octal(block, kTarTime, 0);
  put_text(block, kTarChecksum, "        ");
  block[kTarType.offset] = static_cast<uint8_t>(type);
  put_text(block, kTarMagic, kUstar);
  put_text(block, kTarVersion, "00");
  put_text(block, kTarPrefix, prefix);
  unsigned sum = 0;
  for (const uint8_t byte : block) sum += byte;
  put_text(block, kTarChecksum, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  archive.insert(archive.end(), block.begin(), block.end());
}

void put_content(std::vector<uint8_t>& archive, std::span<const uint8_t> content) {
  archive.insert(archive.end(), content.begin(), content.end());
  archive.resize(tar_padded(archive.size()));
}

struct SplitName {
  std::string_view prefix, name;
};

// A name of ustar lies in two fields, cut at a '/'. Nothing where it does not fit.
std::optional<SplitName> ustar_name(std::string_view name) {
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii) return std::nullopt;
  if (name.size() <= kTarName.length) return SplitName{"", name};
  const size_t cut = name.rfind('/', kTarPrefix.length);
  if (cut == std::string_view::npos || cut == 0 || name.size() - cut - 1 > kTarName.length || name.size() == cut + 1)
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
  const uint64_t pax = ustar_name(name) ? 0 : kTarBlock + tar_padded(pax_record("path", name).size());
  return pax + kTarBlock + tar_padded(size);
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
      fitting.value_or(SplitName{"", std::string_view(name).substr(name.size() - std::min(name.size(), kTarName.length))});
  put_header(archive, own.prefix, own.name, content.size(), '0');
  put_content(archive, content);
}

void end_tar(std::vector<uint8_t>& archive) {
  archive.resize(archive.size() + 2 * kTarBlock);
}

}  // namespace tessera
