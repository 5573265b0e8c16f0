#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "config/schema.h"
#include "core/image.h"

namespace tessera {

enum class ResizeMode { kExact, kShort, kLong, kPad, kCropOrPad };
template <>
struct EnumNames<ResizeMode> {
  static constexpr std::array<std::string_view, 5> names = {"exact", "short", "long", "pad", "crop_or_pad"};
};

struct ResizeConfig {
  static constexpr std::string_view kName = "resize";
  static constexpr std::string_view kHelp = "bring every image to one size";
  ResizeMode mode = ResizeMode::kExact;
  Size size{512, 512};
};
template <class V>
void describe(V& v, ResizeConfig& c) {
  v.field("mode", c.mode,
          "exact: to size, ratio not kept; short/long: that side to size, ratio kept; pad: fit inside size, centre, fill the "
          "rest (see normalize.mean); crop_or_pad: no scaling, centre crop or pad");
  v.field("size", c.size, "512 or [height, width]", at_least(1));
}

enum class JitterSide { kFit, kLong, kShort };
template <>
struct EnumNames<JitterSide> {
  static constexpr std::array<std::string_view, 3> names = {"fit", "long", "short"};
};

struct ScaleJitterConfig {
  static constexpr std::string_view kName = "scale_jitter";
  static constexpr std::string_view kHelp = "resize by a random factor";
  Size base{0, 0};
  double min = 0.5;
  double max = 2.0;
  bool keep_ratio = true;
  JitterSide side = JitterSide::kFit;
};
template <class V>
void describe(V& v, ScaleJitterConfig& c) {
  v.field("base", c.base,
          "size that factor 1 stands for; 0: the image's own size. Without keep_ratio the image becomes exactly base * factor",
          at_least(0));
  v.field("min", c.min, "smallest factor", positive());
  v.field("max", c.max, "largest factor", positive());
  v.field("keep_ratio", c.keep_ratio, "keep the ratio of height to width");
  v.field("side", c.side, "with keep_ratio: fit inside base, or set the long or the short side to base * factor");
}

struct RandomCropConfig {
  static constexpr std::string_view kName = "random_crop";
  static constexpr std::string_view kHelp =
      "cut a random window; smaller images are padded (see normalize.mean; labels with ignore)";
  Size size{512, 512};
  double max_class_share = 1.0;
  int64_t retries = 10;
};
template <class V>
void describe(V& v, RandomCropConfig& c) {
  v.field("size", c.size, "512 or [height, width]", at_least(1));
  v.field("max_class_share", c.max_class_share,
          "draw again while one class fills this share of the labelled pixels or more, or is the only one; 1: never",
          between(0, 1));
  v.field("retries", c.retries, "how often to draw again at most", at_least(0));
}

struct FlipConfig {
  static constexpr std::string_view kName = "flip";
  static constexpr std::string_view kHelp = "mirror at random";
  double horizontal = 0.5;
  double vertical = 0.0;
};
template <class V>
void describe(V& v, FlipConfig& c) {
  v.field("horizontal", c.horizontal, "probability of left-right", between(0, 1));
  v.field("vertical", c.vertical, "probability of up-down", between(0, 1));
}

struct RotateConfig {
  static constexpr std::string_view kName = "rotate";
  static constexpr std::string_view kHelp =
      "rotate about the centre; corners are filled (see normalize.mean), their labels ignored";
  double degrees = 10;
  double probability = 0.5;
  bool quarter_turns = false;
};
template <class V>
void describe(V& v, RotateConfig& c) {
  v.field("degrees", c.degrees, "largest angle to either side", between(0, 180));
  v.field("probability", c.probability, "how often", between(0, 1));
  v.field("quarter_turns", c.quarter_turns, "instead turn by 0, 90, 180 or 270 degrees, with no loss of pixels");
}

struct BlurConfig {
  static constexpr std::string_view kName = "blur";
  static constexpr std::string_view kHelp = "Gaussian blur of the image";
  double max_sigma = 1.0;
  double probability = 0.5;
};
template <class V>
void describe(V& v, BlurConfig& c) {
  v.field("max_sigma", c.max_sigma, "sigma is uniform in [0, max_sigma)", positive());
  v.field("probability", c.probability, "how often", between(0, 1));
}

struct PhotometricConfig {
  static constexpr std::string_view kName = "photometric";
  static constexpr std::string_view kHelp =
      "brightness, contrast, saturation, hue, each at random; contrast before or after the colour steps, at random";
  double brightness = 32.0 / 255;
  double contrast = 0.5;
  double saturation = 0.5;
  double hue = 36.0;
  double probability = 0.5;
};
template <class V>
void describe(V& v, PhotometricConfig& c) {
  v.field("brightness", c.brightness, "added: uniform in +-this share of the range", between(0, 1));
  v.field("contrast", c.contrast, "factor uniform in 1 +- this", between(0, 1));
  v.field("saturation", c.saturation, "factor uniform in 1 +- this (RGB only)", between(0, 1));
  v.field("hue", c.hue, "degrees of the colour circle of 360, uniform in +-this (RGB only)", between(0, 180));
  v.field("probability", c.probability, "of each of the four", between(0, 1));
}

struct PadConfig {
  static constexpr std::string_view kName = "pad";
  static constexpr std::string_view kHelp =
      "grow to at least a size; new pixels are filled (see normalize.mean), their labels ignored";
  Size size{512, 512};
  bool centre = false;
};
template <class V>
void describe(V& v, PadConfig& c) {
  v.field("size", c.size, "512 or [height, width]", at_least(1));
  v.field("centre", c.centre, "pad on all sides instead of right and bottom");
}

struct GammaConfig {
  static constexpr std::string_view kName = "gamma";
  static constexpr std::string_view kHelp =
      "values of the image, as shares of its range, to a random power: below 1 brightens dark parts; deeper images than 8 bits "
      "between their own darkest and brightest value";
  double min = 0.7;
  double max = 1.5;
  double probability = 0.5;
};
template <class V>
void describe(V& v, GammaConfig& c) {
  v.field("min", c.min, "smallest power", between(0.01, 100));
  v.field("max", c.max, "largest power; drawn uniformly in the logarithm", between(0.01, 100));
  v.field("probability", c.probability, "how often", between(0, 1));
}

struct NoiseConfig {
  static constexpr std::string_view kName = "noise";
  static constexpr std::string_view kHelp = "Gaussian noise, drawn anew for each value of the image";
  double max_sigma = 0.05;
  double probability = 0.5;
};
template <class V>
void describe(V& v, NoiseConfig& c) {
  v.field(
      "max_sigma", c.max_sigma,
      "sigma is uniform in [0, max_sigma), as a share of the range: 255 of 8-bit images, of deeper ones from their darkest to "
      "their brightest value",
      between(0, 1));
  v.field("probability", c.probability, "how often", between(0, 1));
}

struct ElasticConfig {
  static constexpr std::string_view kName = "elastic";
  static constexpr std::string_view kHelp =
      "bend image and labels smoothly, by random displacements on a coarse grid, as the U-Net paper does; what comes from "
      "outside "
      "is filled (see normalize.mean), its labels ignored";
  int64_t cells = 3;
  double sigma = 10;
  double probability = 0.5;
};
template <class V>
void describe(V& v, ElasticConfig& c) {
  v.field("cells", c.cells, "of the grid along each side: more bend finer", between(1, 64));
  v.field("sigma", c.sigma, "standard deviation of a grid point's displacement, in pixels", positive());
  v.field("probability", c.probability, "how often", between(0, 1));
}

struct GridDistortionConfig {
  static constexpr std::string_view kName = "grid_distortion";
  static constexpr std::string_view kHelp =
      "stretch some rows and columns of a grid and squeeze others, labels too; borders stay";
  int64_t cells = 5;
  double limit = 0.3;
  double probability = 0.5;
};
template <class V>
void describe(V& v, GridDistortionConfig& c) {
  v.field("cells", c.cells, "rows and columns of the grid", between(2, 64));
  v.field("limit", c.limit, "a row or column is 1 +- this as wide as the others before all are fitted to the image",
          between(0, 0.95));
  v.field("probability", c.probability, "how often", between(0, 1));
}

struct CutoutConfig {
  static constexpr std::string_view kName = "cutout";
  static constexpr std::string_view kHelp = "cover random boxes of the image (see normalize.mean)";
  int64_t max_boxes = 3;
  double min_size = 0.05;
  double max_size = 0.2;
  bool ignore_labels = false;
  double probability = 0.5;
};
template <class V>
void describe(V& v, CutoutConfig& c) {
  v.field("max_boxes", c.max_boxes, "1 to this many", between(1, 1000));
  v.field("min_size", c.min_size, "smallest side of a box, as a share of the image's", between(0, 1));
  v.field("max_size", c.max_size, "largest side of a box, as a share of the image's", between(0, 1));
  v.field("ignore_labels", c.ignore_labels, "covered pixels count in no loss; false: the network has to guess what is hidden");
  v.field("probability", c.probability, "how often", between(0, 1));
}

struct GrayscaleConfig {
  static constexpr std::string_view kName = "grayscale";
  static constexpr std::string_view kHelp = "take the colours out of an RGB image";
  double probability = 0.1;
};
template <class V>
void describe(V& v, GrayscaleConfig& c) {
  v.field("probability", c.probability, "how often", between(0, 1));
}

// Order is the order of a tagged list entry's type index; the names are the keys in configs.
using TransformConfig =
    std::variant<ResizeConfig, ScaleJitterConfig, RandomCropConfig, FlipConfig, RotateConfig, BlurConfig, PhotometricConfig,
                 PadConfig, GammaConfig, NoiseConfig, ElasticConfig, GridDistortionConfig, CutoutConfig, GrayscaleConfig>;

}  // namespace tessera
