#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/image.h"
#include "data/dataset.h"

namespace tessera {

// What decides how a data set is best trained on, as some of its samples show it: see auto_recipe.h.
struct DataFingerprint {
  struct Class {
    std::string name;
    double pixels = 0;  // share of the labelled pixels
    double images = 0;  // share of the images that show it
  };

  int64_t samples = 0;             // of the data set
  int64_t looked_at = 0;           // that could be read
  Size smallest, median, largest;  // side by side: heights and widths each for themselves
  int channels = 0;                // as the network sees them
  std::string depth;               // "8-bit", "16-bit", ..; "mixed"
  std::vector<double> mean, std;   // of each channel, of values scaled to 0..1
  double exposure_spread = 0;      // deviation of the images' mean values, in units of the deviation within an image
  double upright = 0;              // how surely top and bottom of the images differ, in standard errors of one test
  // Pixels: half of what is not the ground (background, or a class of most pixels of nearly all images) belongs to regions with
  // a larger root of the area. 0: there are none.
  double object_size = 0;
  bool multi_label = false;
  std::vector<Class> classes;

  int short_side() const { return median.height < median.width ? median.height : median.width; }
  int long_side() const { return median.height < median.width ? median.width : median.height; }
  bool one_size() const { return smallest == largest; }
  // Turning photographs costs more than not turning cells: what is taken for turnable has been seen to be so, in enough images.
  static constexpr int64_t kEnoughToTurn = 32;
  static constexpr double kUpright = 2.5;  // standard errors
  bool has_up() const { return looked_at < kEnoughToTurn || upright > kUpright; }
};

// Looks at up to `count` samples on `threads` threads, whose number changes nothing. Throws Error where not one can be read.
DataFingerprint fingerprint_of(const Dataset& dataset, int64_t count, uint64_t seed, int threads);

}  // namespace tessera
