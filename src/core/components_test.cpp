#include "core/components.h"

#include <gtest/gtest.h>

#include <string_view>

#include "core/rng.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

// A map from a picture: one character per pixel, '.' is ignored.
LabelMap drawn(const std::vector<std::string_view>& rows) {
  LabelMap map(static_cast<int>(rows.size()), static_cast<int>(rows.front().size()));
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      const char pixel = rows[static_cast<size_t>(y)][static_cast<size_t>(x)];
      map.at(y, x) = pixel == '.' ? kIgnoreLabel : static_cast<int16_t>(pixel - '0');
    }
  }
  return map;
}

bool same(const Region& region, int label, int64_t area, int top, int left, int bottom, int right) {
  return region.label == label && region.area == area && region.top == top && region.left == left && region.bottom == bottom &&
         region.right == right;
}

TEST(Components, CornersJoinWithEightNeighboursOnly) {
  const LabelMap map = drawn({"100",  //
                              "011",  //
                              "000"});
  const Components eight = connected_components(map);
  ASSERT_EQ(eight.regions.size(), 2U);
  EXPECT_TRUE(same(eight.regions[0], 1, 3, 0, 0, 2, 3));
  EXPECT_TRUE(same(eight.regions[1], 0, 6, 0, 0, 3, 3));
  const Components four = connected_components(map, Connectivity::kFour);
  ASSERT_EQ(four.regions.size(), 4U);
  EXPECT_TRUE(same(four.regions[0], 1, 1, 0, 0, 1, 1));
  EXPECT_TRUE(same(four.regions[1], 0, 2, 0, 1, 1, 3));
  EXPECT_TRUE(same(four.regions[2], 0, 4, 1, 0, 3, 3));
  EXPECT_TRUE(same(four.regions[3], 1, 2, 1, 1, 2, 3));
}

TEST(Components, ArmsThatMeetFurtherDownAreOneRegion) {
  const LabelMap map = drawn({"10101",  //
                              "10101",  //
                              "11111"});
  const Components found = connected_components_of(map, 1, Connectivity::kFour);
  ASSERT_EQ(found.regions.size(), 1U);
  EXPECT_TRUE(same(found.regions[0], 1, 11, 0, 0, 3, 5));
  EXPECT_EQ(found.region_map(), (std::vector<int32_t>{0, -1, 0, -1, 0, 0, -1, 0, -1, 0, 0, 0, 0, 0, 0}));
}

TEST(Components, IgnoredPixelsSeparateAndBelongToNoRegion) {
  const Components found = connected_components(drawn({"2.2", "..."}));
  ASSERT_EQ(found.regions.size(), 2U);
  EXPECT_EQ(found.region_map(), (std::vector<int32_t>{0, -1, 1, -1, -1, -1}));
}

TEST(Components, NothingOfTheClassIsNoRegion) {
  EXPECT_TRUE(connected_components_of(drawn({"00", "00"}), 1).regions.empty());
  EXPECT_TRUE(connected_components(LabelMap(0, 0)).regions.empty());
}

TEST(Components, RunsAreConnectedAnew) {
  const LabelMap map = drawn({"111",  //
                              "101",  //
                              "111"});
  auto runs = connected_components_of(map, 1).runs;
  runs.erase(runs.begin());  // the first row: what is left is a cup
  EXPECT_EQ(connect_runs(map.size(), runs, 1, Connectivity::kFour).regions.size(), 1U);
  runs.pop_back();  // and without its bottom two pixels
  const Components two = connect_runs(map.size(), runs, 1, Connectivity::kEight);
  ASSERT_EQ(two.regions.size(), 2U);
  EXPECT_TRUE(same(two.regions[1], 1, 1, 1, 2, 2, 3));
  EXPECT_TRUE(connect_runs(map.size(), {}, 1, Connectivity::kFour).regions.empty());
}

// tests/interop/make_skimage.py
TEST(Components, AreThoseOfScikitImage) {
  const auto fixture = testing::load_fixture("skimage.json");
  for (const auto& expected : fixture.at("cases")) {
    LabelMap map(expected["height"], expected["width"]);
    map.labels = expected["labels"].get<std::vector<int16_t>>();
    for (const auto& [connectivity, name] :
         {std::pair(Connectivity::kFour, "four"), std::pair(Connectivity::kEight, "eight")}) {
      const Components found = connected_components(map, connectivity);
      EXPECT_EQ(found.region_map(), expected[name]["numbers"].get<std::vector<int32_t>>()) << expected["name"] << ", " << name;
      const auto& regions = expected[name]["regions"];
      ASSERT_EQ(found.regions.size(), regions.size());
      for (size_t i = 0; i < regions.size(); ++i) {
        const std::vector<int> box = regions[i]["bbox"];
        EXPECT_TRUE(same(found.regions[i], regions[i]["label"], regions[i]["area"], box[0], box[1], box[2], box[3]));
      }
    }
  }
}

// The definition itself, by flooding: slow and plain.
std::vector<int32_t> flooded(const LabelMap& map, bool corners) {
  std::vector<int32_t> ids(map.labels.size(), -1);
  int32_t next = 0;
  for (int start = 0; start < map.height * map.width; ++start) {
    if (ids[static_cast<size_t>(start)] >= 0 || map.labels[static_cast<size_t>(start)] == kIgnoreLabel) continue;
    std::vector<int> open{start};
    ids[static_cast<size_t>(start)] = next;
    while (!open.empty()) {
      const int y = open.back() / map.width;
      const int x = open.back() % map.width;
      open.pop_back();
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          if (!corners && dy != 0 && dx != 0) continue;
          if (y + dy < 0 || y + dy >= map.height || x + dx < 0 || x + dx >= map.width) continue;
          int32_t& id = ids[static_cast<size_t>((y + dy) * map.width + x + dx)];
          if (id >= 0 || map.at(y + dy, x + dx) != map.at(y, x)) continue;
          id = next;
          open.push_back((y + dy) * map.width + x + dx);
        }
      }
    }
    ++next;
  }
  return ids;
}

TEST(Components, AgreeWithFloodingOnNoise) {
  Rng rng(7, Stream::kSynthetic);
  for (int round = 0; round < 50; ++round) {
    LabelMap map(1 + round % 9, 1 + round % 13);
    for (int16_t& label : map.labels) label = static_cast<int16_t>(static_cast<int>(rng.below(4)) - 1);
    EXPECT_EQ(connected_components(map).region_map(), flooded(map, true));
    EXPECT_EQ(connected_components(map, Connectivity::kFour).region_map(), flooded(map, false));
  }
}

}  // namespace
}  // namespace tessera
