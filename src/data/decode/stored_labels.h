#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "config/data_config.h"
#include "core/image.h"
#include "data/decode/raster.h"

namespace tessera {

// A mask as its file stores it, each of its pixels known to be of a class or ignored, with the class looked up where it is
// needed. Masks of bytes stay bytes; others are labels already.
struct StoredLabels {
  int height = 0, width = 0;
  std::vector<uint8_t> values;             // (height, width); empty: see `labels`
  std::array<int16_t, 256> class_of = {};  // of the values
  std::vector<int16_t> labels;             // (height, width), of masks that are no bytes
  Size size() const { return {height, width}; }
};

// Equal to apply_label_rules of decode_mask, pixel by pixel and error by error.
StoredLabels decode_stored_labels(std::span<const uint8_t> bytes, const LabelConfig& rules, int num_classes,
                                  bool exif_orientation = true, uint64_t max_pixels = kMaxPixels);

// Calls work(values, class_of): pointers to what is stored, and the function that makes a label of it.
template <class Work>
void with_stored(const StoredLabels& stored, const Work& work) {
  if (stored.values.empty()) {
    work(stored.labels.data(), [](int16_t label) { return label; });
  } else {
    work(stored.values.data(), [&](uint8_t value) { return stored.class_of[value]; });
  }
}

// How many values from `at` on, at most `length`, are equal. length: at least 1.
template <class T>
size_t run_length(const T* at, size_t length) {
  size_t run = 1;
  if constexpr (sizeof(T) == 1) {
    const uint64_t same = uint64_t{at[0]} * 0x0101010101010101U;
    for (uint64_t word = 0; run + sizeof word <= length; run += sizeof word) {
      std::memcpy(&word, at + run, sizeof word);
      if (word != same) break;
    }
  }
  while (run < length && at[run] == at[0]) ++run;
  return run;
}

}  // namespace tessera
