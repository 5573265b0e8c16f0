#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/image.h"

namespace tessera {

// A stretch of set pixels, [begin, end), in COCO's column-major order: pixel (y, x) is at x * height + y.
struct PixelRun {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const PixelRun&, const PixelRun&) = default;
};

// What the outlines of one image may cost together: little text can stand for many crossings of a polygon with columns of
// pixels, for many runs, and for the same pixels painted over and over. A field of 10,000 nuclei of 30 columns each has 300,000
// runs; the finest outline of a scan of 20,000 columns crosses each of them some hundred times.
struct OutlineBudget {
  size_t crossings = size_t{1} << 24;
  size_t runs = size_t{1} << 24;  // all are kept until they are painted in order: 256 MiB
};

// The lengths held by a compressed RLE string of COCO: signed numbers in groups of 5 bits from character '0' on, lowest
// group first, bit 6 says that more follow; from the fourth on a number is the difference to the one two before it.
// Throws Error for other characters and for a string that ends within a number.
std::vector<int64_t> parse_rle_string(std::string_view text);

// The set stretches of lengths that alternate between unset and set, beginning with unset. Throws Error unless all are
// >= 0 and they add up to the pixels of `size`.
std::vector<PixelRun> runs_from_lengths(std::span<const int64_t> lengths, Size size);

int64_t area_of(std::span<const PixelRun> runs);

// columns: labels in COCO's order. In it a run lies in one piece, whereas every pixel of it is in another row of an image.
void paint_runs(std::span<int16_t> columns, std::span<const PixelRun> runs, int16_t label);

// Labels in COCO's order as an image has them.
LabelMap label_map(std::span<const int16_t> columns, Size size);

}  // namespace tessera
