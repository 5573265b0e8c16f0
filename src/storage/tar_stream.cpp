#include "storage/tar_stream.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/printable.h"

namespace tessera {
namespace {

constexpr size_t kBlock = 512;
constexpr uint64_t kLongestExtension = 1 << 20, kLargestEntry = uint64_t{1} << 46;

using Block = std::array<uint8_t, kBlock>;

std::string_view text_at(const Block& block, size_t offset, size_t length) {
  const std::string_view field(reinterpret_cast<const char*>(block.data()) + offset, length);
  return field.substr(0, std::min(field.find('\0'), length));
}

// Octal digits, or, with the top bit set, a big-endian number.
std::optional<uint64_t> number_at(const Block& block, size_t offset, size_t length) {
  if ((block[offset] & 0x80) != 0) {
    uint64_t value = block[offset] & 0x7F;
    for (size_t i = 1; i < length; ++i) {
      if (value > kLargestEntry) return std::nullopt;
      value = value << 8 | block[offset + i];
    }
    return value;
  }
  std::string_view digits = text_at(block, offset, length);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool has_right_sum(const Block& block) {
  constexpr size_t kSumAt = 148, kSumBytes = 8;
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += i >= kSumAt && i < kSumAt + kSumBytes ? uint8_t{' '} : block[i];
  return number_at(block, kSumAt, kSumBytes) == sum;
}

std::string name_in(const Block& block) {
  const std::string name(text_at(block, 0, 100)), prefix(text_at(block, 345, 155));
  const bool is_ustar = text_at(block, 257, 5) == "ustar" && block[262] == 0;  // GNU's own kind has other things there
  return is_ustar && !prefix.empty() ? prefix + "/" + name : name;
}

TarEntry::Kind kind_of(char type, const std::string& name) {
  if (type == '5' || (name.ends_with('/') && (type == '0' || type == '\0'))) return TarEntry::Kind::kFolder;
  if (type == '0' || type == '\0' || type == '7') return TarEntry::Kind::kFile;
  return type == '1' || type == '2' ? TarEntry::Kind::kLink : TarEntry::Kind::kOther;
}

// pax: lines of "length key=value\n", the length that of the whole line.
void read_pax(std::string_view text, std::optional<std::string>& path, std::optional<uint64_t>& size) {
  while (!text.empty()) {
    size_t length = 0;
    const auto [digits, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto head = static_cast<size_t>(digits - text.data());
    TSR_CHECK(
        error == std::errc() && length > head + 1 && length <= text.size() && text[head] == ' ' && text[length - 1] == '\n',
        "a pax header is damaged");
    const std::string_view line = text.substr(head + 1, length - head - 2);
    const std::string_view value = line.substr(std::min(line.size(), line.find('=') + 1));
    if (line.starts_with("path=")) path = value;
    if (line.starts_with("size=")) {
      uint64_t number = 0;
      TSR_CHECK(std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc(),
                "a pax header is damaged");
      size = number;
    }
    text.remove_prefix(length);
  }
}

}  // namespace

TarStream::TarStream(Source source, std::string name) : source_(std::move(source)), name_(std::move(name)) {}

void TarStream::read_whole(std::span<uint8_t> to) {
  while (!to.empty()) {
    const size_t got = source_(to.data(), to.size());
    TSR_CHECK(got > 0, "{} is truncated: it ends before the end mark of a tar file", name_);
    to = to.subspan(got);
  }
}

void TarStream::pass_over_rest() {
  std::array<uint8_t, 8 * kBlock> thrown_away;
  for (uint64_t rest = std::exchange(left_, 0) + std::exchange(padding_, 0); rest > 0;) {
    const auto piece = static_cast<size_t>(std::min<uint64_t>(rest, thrown_away.size()));
    read_whole(std::span(thrown_away).first(piece));
    rest -= piece;
  }
}

std::string TarStream::read_extension(uint64_t size) {
  TSR_CHECK(size <= kLongestExtension, "{} is damaged: a header of {} bytes", name_, size);
  std::string text(size, '\0');
  read_whole({reinterpret_cast<uint8_t*>(text.data()), text.size()});
  pass_over_rest();
  return text;
}

std::optional<TarEntry> TarStream::next() {
  std::optional<std::string> path;
  std::optional<uint64_t> size;
  pass_over_rest();
  while (true) {
    Block block;
    read_whole(block);
    if (std::all_of(block.begin(), block.end(), [](uint8_t byte) { return byte == 0; })) return std::nullopt;
    TSR_CHECK(has_right_sum(block), "{} is damaged: the checksum of a tar header does not match", name_);
    const std::optional<uint64_t> stored = number_at(block, 124, 12);
    TSR_CHECK(stored && *stored <= kLargestEntry && size.value_or(0) <= kLargestEntry,
              "{} is damaged: an entry has no size that can be", name_);
    const char type = static_cast<char>(block[156]);
    padding_ = (kBlock - *stored % kBlock) % kBlock;
    if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
      const std::string text = read_extension(*stored);
      if (type == 'L') path = text.substr(0, text.find('\0'));
      if (type == 'x') read_pax(text, path, size);
      continue;
    }
    TarEntry entry;
    entry.name = path.value_or(name_in(block));
    entry.kind = kind_of(type, entry.name);
    entry.size = size.value_or(*stored);
    left_ = entry.size;
    padding_ = (kBlock - entry.size % kBlock) % kBlock;
    TSR_CHECK(entry.kind == TarEntry::Kind::kFile || entry.size == 0 || entry.kind == TarEntry::Kind::kOther,
              "{} is damaged: '{}' is no file but has {} bytes", name_, printable(entry.name), entry.size);
    return entry;
  }
}

size_t TarStream::read(std::span<uint8_t> to) {
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(left_, to.size()));
  if (wanted == 0) return 0;
  read_whole(to.first(wanted));
  left_ -= wanted;
  return wanted;
}

bool looks_like_tar(std::span<const uint8_t> bytes) {
  if (bytes.size() < kBlock) return false;
  Block block;
  std::copy_n(bytes.begin(), kBlock, block.begin());
  return block[0] != 0 && has_right_sum(block);
}

}  // namespace tessera
