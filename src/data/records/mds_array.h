#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/element_type.h"
#include "storage/blob.h"

namespace tessera {

// Numbers of one type, the last axis the fastest.
struct MdsArray {
  Element type = Element::kUInt8;
  std::vector<uint64_t> shape;
  std::vector<uint8_t> owned;        // where the bytes had to be made
  std::span<const uint8_t> content;  // else a part of the value

  std::span<const uint8_t> bytes() const { return owned.empty() ? content : owned; }
  std::string text() const;  // "uint8 (20, 30, 3)"
};

// What is fixed for all values of a column `ndarray:dtype:shape`.
struct MdsArrayType {
  std::optional<Element> type;
  std::vector<uint64_t> shape;  // empty: not fixed
};

// "", "uint8", "uint8:20,30,3". Throws Error.
MdsArrayType parse_mds_array_type(std::string_view text);

// A value of such a column. Throws Error.
MdsArray parse_mds_array(const MdsArrayType& column, std::span<const uint8_t> value);

// Pillow's pixels, as `pil` stores them: u32 width, height, length of the mode; the mode; the rows. Alpha is dropped. Throws
// Error, also for modes that are neither grey, RGB nor a palette's indices.
MdsArray parse_mds_pixels(std::span<const uint8_t> value);

// The mode that such a value says it has, and its size: "RGB 30 x 20".
std::string mds_pixels_text(std::span<const uint8_t> value);

// As numpy.save writes it.
Blob npy_file(const MdsArray& array);

}  // namespace tessera
