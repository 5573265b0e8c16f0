#pragma once
#include <cstdint>
#include <vector>

#include "config/class_weights.h"
#include "data/check/sample_classes.h"

namespace tessera {

// How often the classes of some samples occur.
struct ClassFrequencies {
  std::vector<int64_t> pixels;               // of each class
  std::vector<int64_t> images;               // that show the class
  std::vector<int64_t> labelled_where_seen;  // labelled pixels of the images that show it
  int64_t labelled = 0;                      // what the classes have adds up to it, unless they overlap
  int64_t unusable = 0;                      // samples that could not be read

  explicit ClassFrequencies(int num_classes = 0);
  void add(const std::vector<int64_t>& pixels_of_image, int64_t labelled_of_image);
};

// Of these samples; those that could not be read are left out, as training leaves them out.
ClassFrequencies frequencies_of(const std::vector<SampleClasses>& samples, int num_classes);

// The weights that a method gives, one per class; 1 for classes that never occur. Its own `weights` are not looked at.
std::vector<double> weights_by(const WeightMethod& method, const ClassFrequencies& counts);

}  // namespace tessera
