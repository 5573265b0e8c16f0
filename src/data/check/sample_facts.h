#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/check/border_look.h"
#include "data/check/file_look.h"
#include "data/check/finding_kind.h"
#include "data/check/picture_hash.h"
#include "data/dataset.h"

namespace tessera {

// The stored values of a mask file, before any rule made classes of them.
struct MaskFacts {
  bool read = false;  // there is a file, and it was decoded
  bool coloured = false;
  int32_t lowest = 0, highest = 0;
  double zero_share = 0;  // of the pixels
  double top_share = 0;   // 255 of 8-bit masks, 65535 of 16-bit ones
  bool only_zero_and_top = false;
  bool is_image = false;  // the image once more
  BorderLook borders = {};
};

// What a look at one sample tells, in about a kilobyte: nothing of it grows with the image.
struct SampleFacts {
  std::optional<FindingKind> fault;  // it cannot be used
  std::string reason;
  FileLook image_file, mask_file;
  MaskFacts mask;

  // Of the image, where it could be decoded.
  bool decoded = false;
  Size size;
  int channels = 0;  // as the network sees them
  std::string depth;
  bool grey = false;         // three channels that are the same everywhere
  bool transparent = false;  // it has an alpha channel, and that is not opaque everywhere
  bool shallow = false;      // 16-bit values that are 8-bit ones
  bool constant = false;     // each channel has one value
  float brightest = 0;       // value that all pixels but some 0.5 % stay below, over all channels
  uint64_t hash = 0;         // of all pixels
  PictureHash picture;
  std::vector<double> sum, sum_of_squares;  // per channel, of values scaled to 0..1

  // Of the labels, where the sample can be used.
  bool has_labels = false;
  std::vector<std::pair<int16_t, int64_t>> classes;  // class, pixels
  int64_t labelled = 0;
  int64_t label_borders = 0;  // pixels whose right neighbour is of another class
  uint64_t labels_hash = 0;

  bool usable() const { return !fault; }
  bool same_image(const SampleFacts& other) const {  // pixel by pixel
    return hash == other.hash && size == other.size && channels == other.channels && depth == other.depth;
  }
  int64_t pixels() const { return int64_t{size.height} * size.width; }
};

// How often each value occurs in each channel of 8-bit images.
using ByteHistogram = std::vector<std::array<int64_t, 256>>;

// Has `to` count what `from` does too.
void add_counts(const ByteHistogram& from, ByteHistogram& to);

// Reads sample `index`, decoding image and mask once. Whatever goes wrong is the sample's fault. histogram: added to, where the
// image is of bytes and the sample can be used. Any number of threads.
SampleFacts look_at_sample(const Dataset& dataset, int64_t index, ByteHistogram& histogram);

}  // namespace tessera
