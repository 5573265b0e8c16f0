#include "data/datasets/rle.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

constexpr int kGroupBits = 5;
constexpr int kMaxGroups = 12;  // 60 bits: more than any image has pixels

}  // namespace

std::vector<int64_t> parse_rle_string(std::string_view text) {
  std::vector<int64_t> lengths;
  for (size_t at = 0; at < text.size();) {
    uint64_t value = 0;
    bool more = true;
    for (int group = 0; more; ++group) {
      TSR_CHECK(at < text.size(), "RLE string ends within a number");
      const int bits = static_cast<unsigned char>(text[at]) - '0';
      TSR_CHECK(bits >= 0 && bits < 64 && group < kMaxGroups, "RLE string is damaged at character {}", at);
      ++at;
      value |= static_cast<uint64_t>(bits & 0x1f) << (kGroupBits * group);
      more = (bits & 0x20) != 0;
      const bool negative = !more && (bits & 0x10) != 0;
      if (negative) value |= ~uint64_t{0} << (kGroupBits * (group + 1));
    }
    // Two's complement addition of what a damaged string may hold must not overflow: unsigned, range checked by the caller.
    if (lengths.size() > 2) value += static_cast<uint64_t>(lengths[lengths.size() - 2]);
    lengths.push_back(static_cast<int64_t>(value));
  }
  return lengths;
}

std::vector<PixelRun> runs_from_lengths(std::span<const int64_t> lengths, Size size) {
  const int64_t pixels = int64_t{size.height} * size.width;
  std::vector<PixelRun> runs;
  int64_t at = 0;
  bool set = false;
  for (int64_t length : lengths) {
    TSR_CHECK(length >= 0, "RLE has the negative length {}", length);
    TSR_CHECK(length <= pixels - at, "RLE covers more than the {} x {} = {} pixels of its image", size.height, size.width,
              pixels);
    if (set && length > 0) runs.push_back({at, at + length});
    at += length;
    set = !set;
  }
  TSR_CHECK(at == pixels, "RLE covers {} pixels, its image has {} x {} = {}", at, size.height, size.width, pixels);
  return runs;
}

int64_t area_of(std::span<const PixelRun> runs) {
  int64_t area = 0;
  for (const PixelRun& run : runs) area += run.end - run.begin;
  return area;
}

void paint_runs(std::span<int16_t> columns, std::span<const PixelRun> runs, int16_t label) {
  for (const PixelRun& run : runs) std::fill(columns.begin() + run.begin, columns.begin() + run.end, label);
}

LabelMap label_map(std::span<const int16_t> columns, Size size) {
  constexpr int kBlock = 32;  // of both sides: what is read and what is written stay in the cache
  LabelMap labels(size.height, size.width);
  for (int top = 0; top < size.height; top += kBlock) {
    for (int left = 0; left < size.width; left += kBlock) {
      for (int y = top; y < std::min(top + kBlock, size.height); ++y) {
        for (int x = left; x < std::min(left + kBlock, size.width); ++x) {
          labels.at(y, x) = columns[static_cast<size_t>(x) * static_cast<size_t>(size.height) + static_cast<size_t>(y)];
        }
      }
    }
  }
  return labels;
}

}  // namespace tessera
