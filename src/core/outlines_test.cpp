#include "core/outlines.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "core/rng.h"

namespace tessera {
namespace {

LabelMap noise(int height, int width, uint32_t classes, uint64_t number) {
  Rng rng(3, Stream::kSynthetic, number);
  LabelMap map(height, width);
  for (int16_t& label : map.labels) label = static_cast<int16_t>(rng.below(classes));
  return map;
}

// Adds `value` to the pixels inside the ring, by counting the upright edges left of each, which is how even-odd filling is
// defined.
void fill(const Ring& ring, int value, std::vector<int>& pixels, Size size) {
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      int edges = 0;
      for (size_t i = 0; i < ring.size(); ++i) {
        const Corner &a = ring[i], &b = ring[(i + 1) % ring.size()];
        if (a.x == b.x && a.x <= x && std::min(a.y, b.y) <= y && y < std::max(a.y, b.y)) ++edges;
      }
      if (edges % 2 == 1) pixels[static_cast<size_t>(y * size.width + x)] += value;
    }
  }
}

void expect_simple(const Ring& ring) {
  std::set<std::pair<int, int>> corners;
  for (size_t i = 0; i < ring.size(); ++i) {
    const Corner &before = ring[(i + ring.size() - 1) % ring.size()], &at = ring[i], &after = ring[(i + 1) % ring.size()];
    EXPECT_TRUE(corners.insert({at.x, at.y}).second) << "a corner comes twice";
    EXPECT_NE(before.x == at.x, at.x == after.x) << "a corner that is none";
  }
}

TEST(Outlines, ASquareRunsCounterClockwiseByItsNumbers) {
  LabelMap map(4, 5);
  for (const int y : {1, 2}) map.at(y, 2) = map.at(y, 3) = 1;
  const auto outlines = trace_outlines(connected_components_of(map, 1, Connectivity::kFour));
  ASSERT_EQ(outlines.size(), 1U);
  EXPECT_EQ(outlines[0].outer, (Ring{{2, 1}, {4, 1}, {4, 3}, {2, 3}}));
  EXPECT_EQ(doubled_area(outlines[0].outer), 8);
  EXPECT_TRUE(outlines[0].holes.empty());
}

TEST(Outlines, AHoleThatTouchesTheOutsideAtACornerIsAHole) {
  // 110   The pixel in the middle of the ring and the one outside at the upper right meet at the corner (2, 1).
  // 101
  // 111
  LabelMap map(3, 3, 1);
  map.at(0, 2) = map.at(1, 1) = 0;
  const auto outlines = trace_outlines(connected_components_of(map, 1, Connectivity::kFour));
  ASSERT_EQ(outlines.size(), 1U);
  ASSERT_EQ(outlines[0].holes.size(), 1U);
  EXPECT_EQ(doubled_area(outlines[0].holes[0]), -2);
  EXPECT_EQ(doubled_area(outlines[0].outer), 16);
  expect_simple(outlines[0].outer);
}

TEST(Outlines, FilledTheyAreThePixelsAndEachRingIsSimple) {
  for (uint64_t round = 0; round < 60; ++round) {
    const LabelMap map = noise(1 + static_cast<int>(round % 11), 1 + static_cast<int>(round % 7), 2 + round % 2, round);
    const Components parts = connected_components(map, Connectivity::kFour);
    const auto outlines = trace_outlines(parts);
    ASSERT_EQ(outlines.size(), parts.regions.size());
    std::vector<int> pixels(map.labels.size(), -1);  // regions cover every pixel once, so that sums tell which it was
    for (size_t i = 0; i < outlines.size(); ++i) {
      const auto number = static_cast<int>(i) + 1;
      fill(outlines[i].outer, number, pixels, map.size());
      expect_simple(outlines[i].outer);
      EXPECT_GT(doubled_area(outlines[i].outer), 0);
      int64_t area = doubled_area(outlines[i].outer);
      for (const Ring& hole : outlines[i].holes) {
        fill(hole, -number, pixels, map.size());
        expect_simple(hole);
        EXPECT_LT(doubled_area(hole), 0);
        area += doubled_area(hole);
      }
      EXPECT_EQ(area, 2 * parts.regions[i].area);
    }
    EXPECT_EQ(pixels, parts.region_map());
  }
}

TEST(Outlines, WithoutHolesTheyCoverEachPixelOnce) {
  for (uint64_t round = 0; round < 30; ++round) {
    const LabelMap map = noise(9, 12, 2, round);
    const Components parts = connected_components_of(map, 1, Connectivity::kEight);
    for (int32_t region = 0; region < std::ssize(parts.regions); ++region) {
      std::vector<int> pixels(map.labels.size());
      auto runs = parts.runs;
      std::erase_if(runs, [&](const auto& run) { return run.region != region; });
      for (const Ring& ring : outlines_without_holes(map.size(), runs)) {
        expect_simple(ring);
        fill(ring, 1, pixels, map.size());
      }
      std::vector<int> expected;
      for (const int32_t own : parts.region_map()) expected.push_back(own == region ? 1 : 0);
      EXPECT_EQ(pixels, expected);
    }
  }
}

}  // namespace
}  // namespace tessera
