#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/image.h"

namespace tessera {

// What the channels of a file mean. A stack is channels without a known meaning: pages, or samples nobody explains.
enum class ColorKind { kGrey, kGreyAlpha, kRgb, kRgba, kCmyk, kPalette, kStack };

// What a stack holds besides what was taken of it, for messages.
struct StackShape {
  int channels = 0;                // 0: nothing is known
  int z = 1;                       // planes that became channels, 1 where one was chosen
  int t = 1;                       // likewise
  std::vector<std::string> names;  // of the channels; empty: they have none
};

// A decoded file before any conversion: masks need the stored values, images the colours they stand for.
struct Raster {
  Image image;  // as stored: 1, 2 and 4 bits are not stretched to 0..255, palette indices are not looked up
  ColorKind kind = ColorKind::kGrey;
  int bits = 8;                 // of one stored value
  bool with_sign = false;       // stored values may be negative
  std::vector<Color> palette;   // kPalette: the colour of each index
  StackShape stack;             // of files that say what their pages are
  std::vector<uint16_t> words;  // values of 16 bits, where it was asked to keep them; `image` then has no pixels
};

// The same with the words, if there are any, as the floats that all others expect.
Raster widened(Raster raster);

// Whatever a header says, no more than this is decoded: a forged header must not take the machine's memory.
inline constexpr uint64_t kMaxPixels = uint64_t{1} << 30;
inline constexpr uint64_t kMaxDecodedBytes = uint64_t{1} << 32;

// As many as a config may ask for.
inline constexpr size_t kMaxChannels = 256;

// Throws unless the sizes in a header are above zero and below the limits. `bytes_per_value`: after decoding. `max_pixels` is
// the user's own limit (data.max_pixels), beside the fixed ones.
void check_dimensions(std::string_view format, uint64_t width, uint64_t height, uint64_t channels, uint64_t bytes_per_value,
                      uint64_t max_pixels = kMaxPixels);

}  // namespace tessera
