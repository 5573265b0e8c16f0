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

void paint_runs(LabelMap& labels, std::span<const PixelRun> runs, int16_t label) {
  for (const PixelRun& run : runs) {
    int y = static_cast<int>(run.begin % labels.height), x = static_cast<int>(run.begin / labels.height);
    for (int64_t left = run.end - run.begin; left > 0; --left) {
      labels.at(y, x) = label;
      if (++y == labels.height) y = 0, ++x;
    }
  }
}

}  // namespace tessera
