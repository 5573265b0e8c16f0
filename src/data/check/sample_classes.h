#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "config/data_config.h"
#include "data/dataset.h"

namespace tessera {

// What the labels of one sample are made of.
struct SampleClasses {
  std::vector<std::pair<int16_t, int64_t>> pixels;  // class, how many; of those that occur, rising
  int64_t labelled = 0;                             // pixels; what the classes have adds up to it, unless they overlap
  bool usable = false;                              // it could be read
  bool operator==(const SampleClasses&) const = default;
};

// Counts the labels of every sample, on `threads` threads, whose number changes nothing but the time; a bar on the terminal
// says how far it is. Where samples are files, images are not decoded. Samples that cannot be read are not usable, as in
// training.
std::vector<SampleClasses> count_sample_classes(const Dataset& dataset, int threads);

// The same, kept for the next time in the cache folder of this host (storage/cache_folder.h) where the data set can tell that
// its files are still the same ones; another version of one file, or other settings that decide its labels, are counted anew.
std::vector<SampleClasses> kept_sample_classes(const Dataset& dataset, const DataConfig& config, int threads);

}  // namespace tessera
