#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/image.h"

namespace tessera {

// What some pixels of an image tell of it.
struct ImageLook {
  std::string id;
  std::string depth;                       // see depth_of
  double max_value = 255;                  // of the depth
  int channels = 0;                        // 1 also where three are the same, pixel by pixel
  std::vector<std::vector<float>> values;  // of each channel, those looked at, as in the file
  float lowest = 0, highest = 0;           // of these, all channels
};

// "8-bit", "16-bit", "float", or "with values up to N".
std::string depth_of(const Image& image);

// Looks at up to some ten thousand pixels, spread evenly over the image; the same ones for every image of its size.
ImageLook look_at_image(const std::string& id, const Image& image);

// What the images of a data set have in common. Checkpoints keep it of the training images, to compare with what comes later.
struct ImageFacts {
  std::string depth;              // "mixed" where they differ; "": not known
  int64_t channels = 0;           // of the pictures, see ImageLook; 0: they differ, or it is not known
  std::vector<double> low, high;  // per channel: all values but 0.5 % lie above, and below, as in the files
  bool some_grey = false;         // pictures in colour, and grey ones among them

  bool known() const { return !depth.empty(); }
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ImageFacts, depth, channels, low, high, some_grey)

// Images without a common number of channels have no percentiles.
ImageFacts facts_of(std::span<const ImageLook> images);

// The value below which this share of the values lies: an order statistic, none in between. values: not empty.
double percentile(std::vector<float> values, double share);

}  // namespace tessera
