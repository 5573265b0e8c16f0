#include <algorithm>
#include <charconv>
#include <numeric>
#include <span>

#include "core/error.h"
#include "data/decode/tiff_layout.h"

namespace tessera {
namespace {

// ImageJ's own tags: labels of slices and more, and how long each of them is.
constexpr uint32_t kByteCountsTag = 50838;
constexpr uint32_t kMetadataTag = 50839;
constexpr uint32_t kMagic = 0x494A494A;       // "IJIJ"
constexpr uint32_t kLabelsType = 0x6C61626C;  // "labl"
constexpr size_t kTypeEntry = 8;              // a type and how many values of it there are

// The number after `key` at the start of a line; 1 where there is none.
int64_t line_number(std::string_view description, std::string_view key) {
  for (size_t at = 0; at < description.size();) {
    const size_t end = std::min(description.find('\n', at), description.size());
    const std::string_view line = description.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(key)) continue;
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(line.data() + key.size(), line.data() + line.size(), value);
    return error == std::errc() ? std::clamp<int64_t>(value, 0, kMaxPlanes + 1) : 0;
  }
  return 1;
}

// The values of a tag libtiff does not know; empty where they are not of type T.
template <class T>
std::span<const T> unknown_tag(const TiffFile& file, uint32_t tag, TIFFDataType type) {
  const TIFFField* field = TIFFFindField(file.get(), tag, TIFF_ANY);
  if (field == nullptr || TIFFFieldDataType(field) != type || TIFFFieldReadCount(field) != TIFF_VARIABLE2) return {};
  uint32_t count = 0;
  const void* values = nullptr;
  if (TIFFGetField(file.get(), tag, &count, &values) != 1 || values == nullptr) return {};
  return {static_cast<const T*>(values), count};
}

// Bytes that libtiff has not turned into the machine's order.
struct Numbers {
  std::span<const uint8_t> bytes;
  bool big_endian;

  uint32_t at(size_t offset, size_t length) const {
    uint32_t value = 0;
    for (size_t i = 0; i < length; ++i) value = value << 8 | bytes[offset + (big_endian ? i : length - 1 - i)];
    return value;
  }
};

void append_utf8(std::string& to, uint32_t code) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  } else {
    to += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
           static_cast<char>(0x80 | (code & 0x3F))};
  }
}

// The first line of a label, of what Bio-Formats writes ("c:1/2 z:1/5 - DAPI") the name.
std::string name_in(const Numbers& label) {
  std::string text;
  for (size_t at = 0; at + 2 <= label.bytes.size(); at += 2) {
    const uint32_t code = label.at(at, 2);
    if (code == '\n' || code == 0) break;
    append_utf8(text, code);
  }
  const size_t dash = text.find(" - ");
  return text.starts_with("c:") && dash != std::string::npos ? text.substr(dash + 3) : text;
}

// The labels of the first `wanted` planes; empty where there are not so many or one has none.
std::vector<std::string> read_labels(const TiffFile& file, size_t wanted) {
  const auto sizes = unknown_tag<uint32_t>(file, kByteCountsTag, TIFF_LONG);
  const auto bytes = unknown_tag<uint8_t>(file, kMetadataTag, TIFF_BYTE);
  const Numbers data{bytes, TIFFIsBigEndian(file.get()) != 0};
  if (sizes.size() < 2 || sizes[0] < 4 + kTypeEntry || sizes[0] > bytes.size() || data.at(0, 4) != kMagic) return {};
  size_t entry = 1, at = sizes[0];
  std::vector<std::string> labels;
  for (size_t type = 4; type + kTypeEntry <= sizes[0]; type += kTypeEntry) {
    const bool are_labels = data.at(type, 4) == kLabelsType;
    for (uint32_t left = data.at(type + 4, 4); left > 0 && entry < sizes.size(); --left, ++entry) {
      if (sizes[entry] > bytes.size() - at) return {};
      if (are_labels && labels.size() < wanted) labels.push_back(name_in({bytes.subspan(at, sizes[entry]), data.big_endian}));
      at += sizes[entry];
    }
  }
  const bool all = labels.size() == wanted &&
                   std::none_of(labels.begin(), labels.end(), [](const std::string& name) { return name.empty(); });
  return all ? labels : std::vector<std::string>{};
}

}  // namespace

std::optional<StackLayout> imagej_layout(const TiffFile& file, std::string_view description, int samples,
                                         const std::vector<tdir_t>& pages) {
  if (!description.starts_with("ImageJ=")) return std::nullopt;
  const int64_t images = line_number(description, "images="), c = line_number(description, "channels=");
  const int64_t z = line_number(description, "slices="), t = line_number(description, "frames=");
  if (c < 1 || z < 1 || t < 1 || c * z > kMaxPlanes || c * z * t > kMaxPlanes || c * z * t != images) return std::nullopt;

  StackLayout layout;
  layout.explained = true;
  layout.samples = samples;
  layout.channels = static_cast<int>(c), layout.z = static_cast<int>(z), layout.t = static_cast<int>(t);
  layout.pages.resize(static_cast<size_t>(images), -1);
  layout.raw = pages.size() == 1 && images > 1;
  if (layout.raw) {
    std::iota(layout.pages.begin(), layout.pages.end(), 0);
  } else {
    std::copy_n(pages.begin(), std::min(pages.size(), layout.pages.size()), layout.pages.begin());
  }
  if (c > 1) layout.names = read_labels(file, static_cast<size_t>(c));
  return layout;
}

}  // namespace tessera
