#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/check/survey.h"

namespace tessera {

struct SampleFault {
  std::string id;
  std::string reason;
};

// What a split holds. Figures are over the usable samples only.
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
  std::vector<double> suggested_class_weights;  // median frequency balancing; 1 for classes never seen
  ByteHistogram histogram;                      // of 8-bit images

  int64_t usable() const { return checked - static_cast<int64_t>(faults.size()); }
};

DataReport report_of(const Survey& survey);

}  // namespace tessera
