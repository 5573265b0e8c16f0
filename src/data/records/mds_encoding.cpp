#include "data/records/mds_encoding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/byte_reader.h"
#include "core/error.h"
#include "core/printable.h"
#include "core/suggest.h"
#include "data/records/mds_array.h"

namespace tessera {
namespace {

enum class Kind { kFile, kText, kNumber, kArray, kPixels, kFiles, kPixelList, kJpegArray, kPickle };

struct Encoding {
  std::string_view name;
  Kind kind;
  uint64_t size = 0;  // of a number
};
constexpr std::array<Encoding, 28> kEncodings = {{{"bytes", Kind::kFile},          {"str", Kind::kText},
                                                  {"json", Kind::kText},           {"str_int", Kind::kText},
                                                  {"str_float", Kind::kText},      {"str_decimal", Kind::kText},
                                                  {"jpeg", Kind::kFile},           {"png", Kind::kFile},
                                                  {"pil", Kind::kPixels},          {"ndarray", Kind::kArray},
                                                  {"list[jpeg]", Kind::kFiles},    {"list[png]", Kind::kFiles},
                                                  {"list[pil]", Kind::kPixelList}, {"jpeg_array", Kind::kJpegArray},
                                                  {"jpegarray", Kind::kJpegArray}, {"pkl", Kind::kPickle},
                                                  {"int", Kind::kNumber, 8},       {"int8", Kind::kNumber, 1},
                                                  {"int16", Kind::kNumber, 2},     {"int32", Kind::kNumber, 4},
                                                  {"int64", Kind::kNumber, 8},     {"uint8", Kind::kNumber, 1},
                                                  {"uint16", Kind::kNumber, 2},    {"uint32", Kind::kNumber, 4},
                                                  {"uint64", Kind::kNumber, 8},    {"float16", Kind::kNumber, 2},
                                                  {"float32", Kind::kNumber, 4},   {"float64", Kind::kNumber, 8}}};

constexpr std::string_view kArrayPrefix = "ndarray:";

std::string_view array_type(const std::string& encoding) {
  const std::string_view text = encoding;
  return text.starts_with(kArrayPrefix) ? text.substr(kArrayPrefix.size()) : std::string_view();
}

const Encoding* find_encoding(const std::string& encoding) {
  const std::string_view name = encoding.starts_with(kArrayPrefix) ? "ndarray" : std::string_view(encoding);
  const auto* const found =
      std::find_if(kEncodings.begin(), kEncodings.end(), [&](const Encoding& one) { return one.name == name; });
  return found == kEncodings.end() ? nullptr : found;
}

Kind kind_of(const MdsColumn& column) {
  const Encoding* found = find_encoding(column.encoding);
  TSR_CHECK(found != nullptr, "column '{}' has an unknown encoding", printable(column.name));
  return found->kind;
}

template <class T>
T number(std::span<const uint8_t> value) {
  return ByteReader(value, "its number").number<T>();
}

double half(std::span<const uint8_t> value) {
  const auto bits = number<uint16_t>(value);
  const int exponent = (bits >> 10U) & 31U, fraction = bits & 1023U;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

std::string number_text(std::string_view type, std::span<const uint8_t> value) {
  if (type == "int8") return fmt::to_string(static_cast<int>(number<int8_t>(value)));
  if (type == "int16") return fmt::to_string(number<int16_t>(value));
  if (type == "int32") return fmt::to_string(number<int32_t>(value));
  if (type == "uint8") return fmt::to_string(static_cast<int>(number<uint8_t>(value)));
  if (type == "uint16") return fmt::to_string(number<uint16_t>(value));
  if (type == "uint32") return fmt::to_string(number<uint32_t>(value));
  if (type == "uint64") return fmt::to_string(number<uint64_t>(value));
  if (type == "float16") return fmt::to_string(half(value));
  if (type == "float32") return fmt::to_string(number<float>(value));
  if (type == "float64") return fmt::to_string(number<double>(value));
  return fmt::to_string(number<int64_t>(value));
}

// The items of jpeg_array: u32 count, u32 sizes, contents. Of list[...] the same behind a word that is 0.
std::vector<Blob> items_of(Kind kind, const Blob& value) {
  ByteReader in(value.bytes, "its list");
  if (kind != Kind::kJpegArray) in.skip(sizeof(uint32_t));
  const auto count = in.number<uint32_t>();
  TSR_CHECK(count <= in.left() / sizeof(uint32_t), "its list says that it has {} items in {} bytes", count, in.left());
  std::vector<uint32_t> sizes;
  for (uint32_t i = 0; i < count; ++i) sizes.push_back(in.number<uint32_t>());
  std::vector<Blob> items;
  for (const uint32_t size : sizes) {
    const size_t at = in.position();
    in.skip(size);
    items.push_back(value.part(at, size));
  }
  return items;
}

Blob only_item(const MdsColumn& column, Kind kind, const Blob& value) {
  const std::vector<Blob> items = items_of(kind, value);
  TSR_CHECK(items.size() == 1, "column '{}' holds {} pictures here ({}), expected one for each sample", printable(column.name),
            items.size(), column.encoding);
  return items[0];
}

std::string_view as_text(std::span<const uint8_t> value) {
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}

// Names are often stored as bytes.
bool is_short_text(const MdsColumn& column, std::span<const uint8_t> value) {
  constexpr size_t kShort = 80;
  return column.encoding == "bytes" && !value.empty() && value.size() <= kShort && printable(as_text(value)) == as_text(value);
}

// Pillow shows a bit as black or white; in a mask it is a class.
Blob pixels_file(const Blob& value, PictureUse use) {
  MdsArray array = parse_mds_pixels(value.bytes);
  if (array.type == Element::kBool) {
    array.type = Element::kUInt8;
    if (use == PictureUse::kImage) {
      for (uint8_t& bit : array.owned) bit = bit != 0 ? 255 : 0;
    }
  }
  return npy_file(array);
}

}  // namespace

uint64_t mds_value_size(const std::string& encoding) {
  const Encoding* found = find_encoding(encoding);
  TSR_CHECK(found != nullptr, "'{}' is no encoding", printable(encoding));
  if (found->kind != Kind::kArray) return found->size;
  const MdsArrayType type = parse_mds_array_type(array_type(encoding));
  if (!type.type || type.shape.empty()) return 0;
  uint64_t size = size_of(*type.type);
  for (const uint64_t side : type.shape) {
    TSR_CHECK(size <= UINT32_MAX / side, "'{}' is larger than a shard can be", printable(encoding));
    size *= side;
  }
  return size;
}

void check_mds_column(const MdsColumn& column, const std::string& where) {
  if (find_encoding(column.encoding) == nullptr) {
    std::vector<std::string> names;
    for (const Encoding& one : kEncodings) names.emplace_back(one.name);
    fail("{}: column '{}' has the encoding '{}', which is not known{}", where, printable(column.name),
         printable(column.encoding), did_you_mean(column.encoding, names));
  }
  const uint64_t expected = mds_value_size(column.encoding);
  TSR_CHECK(column.size == expected || (column.size == 0 && expected == 0),
            "{}: column '{}' ({}) says that its values have {} bytes, expected {}", where, printable(column.name),
            printable(column.encoding), column.size, expected);
}

bool holds_pictures(const std::string& encoding) {
  const Encoding* found = find_encoding(encoding);
  return found != nullptr && found->kind != Kind::kText && found->kind != Kind::kNumber && found->kind != Kind::kPickle;
}

Blob mds_picture(const MdsColumn& column, const Blob& value, PictureUse use) {
  const Kind kind = kind_of(column);
  switch (kind) {
    case Kind::kFile: return value;
    case Kind::kArray: return npy_file(parse_mds_array(parse_mds_array_type(array_type(column.encoding)), value.bytes));
    case Kind::kPixels: return pixels_file(value, use);
    case Kind::kFiles:
    case Kind::kJpegArray: return only_item(column, kind, value);
    case Kind::kPixelList: return pixels_file(only_item(column, kind, value), use);
    default: break;
  }
  fail("column '{}' holds {}, which is no picture", printable(column.name), column.encoding);
}

std::string mds_text(const MdsColumn& column, std::span<const uint8_t> value) {
  const Kind kind = kind_of(column);
  const Blob blob{value, nullptr};
  switch (kind) {
    case Kind::kText: return printable(as_text(value));
    case Kind::kNumber: return number_text(column.encoding, value);
    case Kind::kArray: return parse_mds_array(parse_mds_array_type(array_type(column.encoding)), value).text();
    case Kind::kPixels: return mds_pixels_text(value);
    case Kind::kFile: return is_short_text(column, value) ? std::string(as_text(value)) : fmt::format("{} bytes", value.size());
    case Kind::kPickle: return fmt::format("{} bytes, not read: pickled", value.size());
    default: break;
  }
  std::string text;
  for (const Blob& item : items_of(kind, blob)) {
    text += text.empty() ? "" : ", ";
    text += kind == Kind::kPixelList ? mds_pixels_text(item.bytes) : fmt::format("{} bytes", item.size());
  }
  return "[" + text + "]";
}

std::string mds_name(const MdsColumn& column, std::span<const uint8_t> value) {
  const Kind kind = kind_of(column);
  if (kind == Kind::kNumber) return number_text(column.encoding, value);
  TSR_CHECK(kind == Kind::kText || kind == Kind::kFile, "column '{}' holds {}, which is no name", printable(column.name),
            column.encoding);
  return std::string(as_text(value));
}

}  // namespace tessera
