#pragma once
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/image.h"
#include "data/decode/decode.h"

namespace tessera {

// A large image as its file stores it, for who cuts windows out of it and converts those: values of 16 bits stay words, and
// where the channels asked for are the file's first ones, or its grey repeated, the file's channels stay too. `Image`, which
// all that changes pixels works on, takes up to six times the memory.
struct StoredImage {
  int height = 0;
  int width = 0;
  int channels = 0;  // that are stored
  float max_value = 255.0F;
  std::variant<std::vector<uint8_t>, std::vector<float>, std::vector<uint16_t>> pixels;

  StoredImage() = default;
  explicit StoredImage(Image image);

  Size size() const { return {height, width}; }
  bool is_words() const { return std::holds_alternative<std::vector<uint16_t>>(pixels); }
};

// As decode_image, but for the form. network_pixels (data/batch/stored_pixels.h) makes the channels that were asked for.
StoredImage decode_stored(std::span<const uint8_t> bytes, const DecodeOptions& options);

}  // namespace tessera
