#pragma once
#include <array>
#include <cstdint>

#include "core/image.h"

namespace tessera {

// What an image looks like, in few bytes: the same for one that was scaled, saved anew or made a little lighter.
struct PictureHash {
  static constexpr int kSide = 16;
  uint64_t bits = 0;                          // signs of the 64 lowest frequencies (of the cosine transform of 32 x 32 greys)
  std::array<uint8_t, kSide * kSide> grey{};  // the image in small, its own darkest 0 and brightest 255
  float contrast = 0;  // standard deviation of the small image's greys, before that, as a share of the range
};

// max_value of the image is the range. Of large images some pixels stand for all.
PictureHash hash_picture(const Image& image);

// How alike the small images are: 1 for the same, 0 for nothing in common.
double likeness(const PictureHash& a, const PictureHash& b);

}  // namespace tessera
