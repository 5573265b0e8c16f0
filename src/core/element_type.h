#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// Element types that weight files hold. Kept apart from libtorch so that parsers of hostile input can be fuzzed alone.
enum class Element : uint8_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kBool,
  kFloat8E4M3,
  kFloat8E5M2,
  kUInt16,
  kUInt32,
  kUInt64,
};

// What no weight file holds more of; it keeps all products of sizes far from overflow.
inline constexpr int64_t kLargestCount = int64_t{1} << 50;  // bytes, or elements
inline constexpr size_t kMostAxes = 64;

// What the formats call a type; "" where a format has no word for it.
struct ElementNames {
  Element type;
  size_t size;
  std::string_view storage;      // torch.<storage>
  std::string_view dtype;        // torch.<dtype>
  std::string_view numpy;        // without byte order
  std::string_view safetensors;  // header field "dtype"
};

inline constexpr std::array<ElementNames, 15> kElements{{
    {Element::kFloat64, 8, "DoubleStorage", "float64", "f8", "F64"},
    {Element::kFloat32, 4, "FloatStorage", "float32", "f4", "F32"},
    {Element::kFloat16, 2, "HalfStorage", "float16", "f2", "F16"},
    // NumPy has no bfloat16; the package that adds one stores it as two opaque bytes.
    {Element::kBFloat16, 2, "BFloat16Storage", "bfloat16", "V2", "BF16"},
    {Element::kInt64, 8, "LongStorage", "int64", "i8", "I64"},
    {Element::kInt32, 4, "IntStorage", "int32", "i4", "I32"},
    {Element::kInt16, 2, "ShortStorage", "int16", "i2", "I16"},
    {Element::kInt8, 1, "CharStorage", "int8", "i1", "I8"},
    {Element::kUInt8, 1, "ByteStorage", "uint8", "u1", "U8"},
    {Element::kBool, 1, "BoolStorage", "bool", "b1", "BOOL"},
    {Element::kFloat8E4M3, 1, "", "float8_e4m3fn", "", "F8_E4M3"},
    {Element::kFloat8E5M2, 1, "", "float8_e5m2", "", "F8_E5M2"},
    {Element::kUInt16, 2, "", "uint16", "u2", "U16"},
    {Element::kUInt32, 4, "", "uint32", "u4", "U32"},
    {Element::kUInt64, 8, "", "uint64", "u8", "U64"},
}};

constexpr const ElementNames& names_of(Element type) {
  return kElements[static_cast<size_t>(type)];
}
constexpr size_t size_of(Element type) {
  return names_of(type).size;
}

// The type that `field` (e.g. &ElementNames::dtype) calls `name`.
constexpr std::optional<Element> find_element(std::string_view ElementNames::*field, std::string_view name) {
  for (const ElementNames& names : kElements) {
    if (!name.empty() && names.*field == name) return names.type;
  }
  return std::nullopt;
}

// "<f4", "|u1", "f8", ...: nothing for big-endian numbers and for types that are no numbers.
constexpr std::optional<Element> element_of_numpy(std::string_view text) {
  if (text.starts_with('>')) return std::nullopt;
  if (text.starts_with('<') || text.starts_with('|') || text.starts_with('=')) text.remove_prefix(1);
  if (text == "?") return Element::kBool;
  return find_element(&ElementNames::numpy, text);
}

}  // namespace tessera
