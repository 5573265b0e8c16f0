#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/decode/mask.h"

namespace tessera {

// What the mask files of a data set hold, before any rule makes classes of it.
struct MaskLook {
  int64_t masks = 0;   // that could be read
  int64_t pixels = 0;  // of them
  int bits = 0;        // of the deepest
  bool coloured = false;
  std::map<int32_t, int64_t> values;      // stored grey value or palette index, or of coloured masks 0xRRGGBB: its pixels
  bool too_many = false;                  // values, so that some are missing
  std::map<int32_t, int64_t> masks_with;  // each of these values: in how many masks

  // The labels of shapes, of files that are drawn (Note [labelme]); such a file counts as no mask here.
  std::set<std::string> drawn;

  // How the values that are not 0 lie, for masks that have some: do they number objects?
  int64_t with_objects = 0;                 // masks
  int64_t values_in_masks = 0;              // different values, summed over these masks
  int64_t pieces = 0;                       // connected pieces of one value
  int64_t numbered_from_1 = 0;              // masks whose values are 1, 2, .. without a gap
  std::map<int64_t, int64_t> value_counts;  // how many different values a mask has: in how many masks

  void add(const RawMask& mask);
  void merge(MaskLook&& other);
};

// What nearly all masks hold: without the values that hardly any has, which are mistakes of these masks. Of a few masks, all.
MaskLook usual_values(const MaskLook& look);

// Reads the masks of these samples on `threads` threads. Those that cannot be read have no say, nor have a few odd ones among
// others: computed ones (see BorderLook), and coloured ones among grey ones.
MaskLook look_at_masks(const Dataset& dataset, std::span<const int64_t> samples, uint64_t max_pixels, bool exif_orientation,
                       int threads);

// Whether the values seem to be numbers of single objects (cells, leaves) rather than of classes: many, each in one piece, from
// 1 upwards in each mask and not the same number of them everywhere, or hardly one of them in two masks.
bool numbers_objects(const MaskLook& look);

// "0..4, 7, 255" for people; of many, the first ones.
std::string list_values(const MaskLook& look);

}  // namespace tessera
