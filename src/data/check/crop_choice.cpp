#include "data/check/crop_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int kFactor = 32;  // what the sides of crops are multiples of: a U-Net of four heights halves them four times

int round_up(double value) {
  return kFactor * static_cast<int>(std::ceil(value / kFactor));
}

// Objects of more pixels a side than this are made about that large: what a U-Net of four heights sees at once.
constexpr double kLarge = 100;

// The side of images that shows objects so; 0: images stay as they are, since they would hardly become smaller.
int choose_base(const DataFingerprint& data) {
  constexpr double kHardly = 0.8;
  constexpr int kLeast = 384;
  if (data.object_size <= kLarge) return 0;
  const int base = std::max(kLeast, round_up(data.long_side() * kLarge / data.object_size));
  return base < kHardly * data.long_side() ? base : 0;
}

}  // namespace

CropChoice choose_crop(const DataFingerprint& data, bool gpu) {
  constexpr int kLeast = 192, kCropOfSmaller = 256;
  constexpr double kObjects = 6;  // sides of an object that fit into a crop
  const int most = gpu ? 512 : 256;
  CropChoice cut{.base = choose_base(data), .object_size = data.object_size};
  if (cut.base > 0) {
    cut.object_size *= static_cast<double>(cut.base) / data.long_side();
    cut.crop = kCropOfSmaller;
    cut.base_reason = fmt::format(
        "half of the labelled area lies in regions of more than {:.0f} pixels a side, which are {:.0f} then: a crop sees what "
        "surrounds them",
        data.object_size, cut.object_size);
  } else {
    cut.crop = std::clamp(round_up(kObjects * data.object_size), kLeast, most);
  }
  const int wanted = cut.crop, room = round_up(cut.base > 0 ? cut.base : data.short_side());
  cut.crop = std::min(wanted, room);
  const std::string middle = fmt::format("images are {} x {} in the middle", data.median.height, data.median.width);
  cut.crop_reason =
      cut.crop < wanted ? fmt::format("crops of {}: {}", cut.crop, middle)
      : cut.base > 0    ? fmt::format("crops of {} from images of at most {}; {}", cut.crop, cut.base, middle)
      : data.object_size > 0
          ? fmt::format("crops of {}: about {:.0f} times an object's side of {:.0f} pixels, between {} and {}; {}", cut.crop,
                        kObjects, data.object_size, kLeast, most, middle)
          : fmt::format("crops of {}: between {} and {}; {}", cut.crop, kLeast, most, middle);
  return cut;
}

double CropChoice::varied_share() const {
  const double object = object_size / crop;
  return std::clamp(1 - object * object / 2, 0.75, 0.999);
}

}  // namespace tessera
