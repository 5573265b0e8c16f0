#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace tessera {

struct SampleFault {
  std::string id;
  std::string reason;
};

// A usable sample, by what its pixels are.
struct ImageMark {
  std::string id;
  Size size;
  uint64_t hash = 0;  // of all pixels
};

// What a data set holds. Figures are over the usable samples only.
struct DataReport {
  int64_t checked = 0;              // samples looked at, faulty ones included
  std::vector<SampleFault> faults;  // in the order of the data set
  std::vector<int64_t> pixels_per_class;
  std::vector<int64_t> images_per_class;  // in how many images the class occurs
  int64_t labelled_pixels = 0;            // what the classes have add up to it, unless they overlap
  int64_t ignored_pixels = 0;
  std::map<std::string, int64_t> sizes;  // "height x width" -> images
  std::vector<double> mean;              // per channel, of pixel values scaled to 0..1
  std::vector<double> std;
  std::vector<std::string> warnings;
  std::vector<double> suggested_class_weights;  // median frequency balancing; 1 for classes never seen
  std::vector<ImageMark> images;                // in the order of the data set
};

// Reads every sample once, on `threads` threads. Whatever goes wrong with one is that sample's fault, and the others go on. The
// report does not depend on their number. `progress` (may be empty) is called with the number of samples done, one call at a
// time, from any of the threads.
DataReport check_dataset(const Dataset& dataset, int threads, const std::function<void(int64_t done)>& progress);

// Images that are in both data sets, pixel by pixel: the name in each. One pair per image of `val`.
std::vector<std::pair<std::string, std::string>> shared_images(const DataReport& train, const DataReport& val);

}  // namespace tessera
