#include "data/records/mds_array.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/byte_reader.h"
#include "core/error.h"
#include "core/printable.h"

namespace tessera {
namespace {

// The codes that a value has for its type.
constexpr std::array<std::pair<uint8_t, Element>, 11> kTypeCodes = {{{8, Element::kUInt8},
                                                                     {9, Element::kInt8},
                                                                     {16, Element::kUInt16},
                                                                     {17, Element::kInt16},
                                                                     {18, Element::kFloat16},
                                                                     {32, Element::kUInt32},
                                                                     {33, Element::kInt32},
                                                                     {34, Element::kFloat32},
                                                                     {64, Element::kUInt64},
                                                                     {65, Element::kInt64},
                                                                     {66, Element::kFloat64}}};

std::optional<Element> type_of_code(uint8_t code) {
  for (const auto& [known, type] : kTypeCodes) {
    if (known == code) return type;
  }
  return std::nullopt;
}

bool has_code(Element type) {
  return std::any_of(kTypeCodes.begin(), kTypeCodes.end(), [&](const auto& one) { return one.second == type; });
}

// Bytes of an array, at most as many as `most`; nothing where there are more.
std::optional<uint64_t> bytes_of(const std::vector<uint64_t>& shape, Element type, uint64_t most) {
  uint64_t bytes = size_of(type);
  for (const uint64_t side : shape) {
    if (side == 0 || bytes > most / side) return std::nullopt;
    bytes *= side;
  }
  return bytes;
}

uint64_t read_side(ByteReader& in, unsigned width_code) {
  switch (width_code) {
    case 0: return in.number<uint8_t>();
    case 1: return in.number<uint16_t>();
    case 2: return in.number<uint32_t>();
    default: return in.number<uint64_t>();
  }
}

struct Pixels {
  uint32_t width = 0, height = 0;
  std::string mode;
  std::span<const uint8_t> rows;
};

Pixels parse_pixels(std::span<const uint8_t> value) {
  ByteReader in(value, "its Pillow image");
  Pixels pixels;
  pixels.width = in.number<uint32_t>();
  pixels.height = in.number<uint32_t>();
  const auto length = in.number<uint32_t>();
  pixels.mode = std::string(in.text(length));
  pixels.rows = in.take(in.left());
  return pixels;
}

// How a mode is stored, and how many of its channels are taken.
struct Mode {
  std::string_view name;
  Element type;
  uint64_t stored, taken;
};
constexpr std::array<Mode, 8> kModes = {{{"L", Element::kUInt8, 1, 1},
                                         {"P", Element::kUInt8, 1, 1},
                                         {"LA", Element::kUInt8, 2, 1},
                                         {"RGB", Element::kUInt8, 3, 3},
                                         {"RGBA", Element::kUInt8, 4, 3},
                                         {"I;16", Element::kUInt16, 1, 1},
                                         {"I", Element::kInt32, 1, 1},
                                         {"F", Element::kFloat32, 1, 1}}};

// Of mode "1": a bit per pixel, the first the highest, each row from a new byte on.
MdsArray from_bits(const Pixels& pixels) {
  constexpr unsigned kBits = 8;
  const uint64_t row = (uint64_t{pixels.width} + kBits - 1) / kBits;
  TSR_CHECK(pixels.rows.size() / row == pixels.height && pixels.rows.size() % row == 0,
            "its Pillow image of {} x {} bits has {} bytes, expected {}", pixels.width, pixels.height, pixels.rows.size(),
            row * pixels.height);
  MdsArray array{.type = Element::kBool, .shape = {pixels.height, pixels.width}, .owned = {}, .content = {}};
  array.owned.reserve(uint64_t{pixels.height} * pixels.width);
  for (uint64_t y = 0; y < pixels.height; ++y) {
    for (uint64_t x = 0; x < pixels.width; ++x)
      array.owned.push_back((pixels.rows[y * row + x / kBits] >> (kBits - 1 - x % kBits)) & 1U);
  }
  return array;
}

}  // namespace

std::string MdsArray::text() const {
  return fmt::format("{} ({})", names_of(type).dtype, fmt::join(shape, ", "));
}

MdsArrayType parse_mds_array_type(std::string_view text) {
  MdsArrayType column;
  if (text.empty()) return column;
  const size_t colon = text.find(':');
  column.type = find_element(&ElementNames::dtype, text.substr(0, colon));
  TSR_CHECK(column.type && has_code(*column.type), "'ndarray:{}' names no type of numbers", printable(text));
  if (colon == std::string_view::npos) return column;
  for (std::string_view rest = text.substr(colon + 1);;) {
    uint64_t side = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), side);
    TSR_CHECK(error == std::errc() && side > 0 && column.shape.size() < kMostAxes, "'ndarray:{}' has a shape that cannot be",
              printable(text));
    column.shape.push_back(side);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (rest.empty() || rest == ",") break;
    TSR_CHECK(rest.front() == ',', "'ndarray:{}' has a shape that cannot be", printable(text));
    rest.remove_prefix(1);
  }
  return column;
}

MdsArray parse_mds_array(const MdsArrayType& column, std::span<const uint8_t> value) {
  ByteReader in(value, "its array");
  MdsArray array;
  if (column.type) {
    array.type = *column.type;
  } else {
    const auto code = in.number<uint8_t>();
    const auto type = type_of_code(code);
    TSR_CHECK(type.has_value(), "its array has elements of an unknown type ({})", code);
    array.type = *type;
  }
  array.shape = column.shape;
  if (array.shape.empty()) {
    const auto axes = in.number<uint8_t>();
    for (unsigned i = 0; i < axes >> 2U; ++i) array.shape.push_back(read_side(in, axes & 3U));
  }
  array.content = in.take(in.left());
  const auto expected = bytes_of(array.shape, array.type, value.size());
  TSR_CHECK(expected == array.content.size(), "its array {} has {} bytes", array.text(), array.content.size());
  return array;
}

MdsArray parse_mds_pixels(std::span<const uint8_t> value) {
  const Pixels pixels = parse_pixels(value);
  TSR_CHECK(pixels.width > 0 && pixels.height > 0, "its Pillow image is {} x {} pixels", pixels.width, pixels.height);
  if (pixels.mode == "1") return from_bits(pixels);
  const auto* const mode = std::find_if(kModes.begin(), kModes.end(), [&](const Mode& one) { return one.name == pixels.mode; });
  TSR_CHECK(mode != kModes.end(), "its Pillow image is of mode '{}', expected 1, L, LA, P, RGB, RGBA, I;16, I or F",
            printable(pixels.mode));
  const auto expected = bytes_of({pixels.height, pixels.width, mode->stored}, mode->type, pixels.rows.size());
  TSR_CHECK(expected == pixels.rows.size(), "its Pillow image of {} x {} pixels, mode {}, has {} bytes", pixels.width,
            pixels.height, pixels.mode, pixels.rows.size());
  MdsArray array{.type = mode->type, .shape = {pixels.height, pixels.width}, .owned = {}, .content = pixels.rows};
  if (mode->taken > 1) array.shape.push_back(mode->taken);
  if (mode->taken == mode->stored) return array;
  for (size_t at = 0; at < pixels.rows.size(); at += mode->stored) {
    const auto pixel = pixels.rows.subspan(at, mode->taken);
    array.owned.insert(array.owned.end(), pixel.begin(), pixel.end());
  }
  return array;
}

std::string mds_pixels_text(std::span<const uint8_t> value) {
  const Pixels pixels = parse_pixels(value);
  return fmt::format("{} {} x {}", printable(pixels.mode), pixels.width, pixels.height);
}

Blob npy_file(const MdsArray& array) {
  constexpr size_t kAlign = 64, kPreamble = 10;
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", size_of(array.type) > 1 ? "<" : "|",
                  names_of(array.type).numpy, fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  header.append(kAlign - 1 - (kPreamble + header.size()) % kAlign, ' ');
  header += '\n';
  std::vector<uint8_t> file = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  file.push_back(static_cast<uint8_t>(header.size() & 255U));
  file.push_back(static_cast<uint8_t>(header.size() >> 8U));
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), array.bytes().begin(), array.bytes().end());
  return own_bytes(std::move(file));
}

}  // namespace tessera
