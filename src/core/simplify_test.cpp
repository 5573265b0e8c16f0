#include "core/simplify.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Simplify, StairsBecomeALine) {
  const Outline stairs{{{0, 0}, {3, 0}, {3, 1}, {2, 1}, {2, 2}, {1, 2}, {1, 3}, {0, 3}}, {}};
  // The corner farthest from the first stays, (3, 1); (3, 0) lies 0.95 off the line to it, the steps up to 0.89 off the other.
  EXPECT_EQ(simplified(stairs, 1.0).outer, (Ring{{0, 0}, {3, 1}, {0, 3}}));
  EXPECT_EQ(simplified(stairs, 0.0).outer, stairs.outer);
  EXPECT_EQ(simplified(stairs, 0.4).outer, stairs.outer);
}

TEST(Simplify, ASmallHoleVanishesAndALargeOneStays) {
  const Ring pixel{{2, 2}, {2, 3}, {3, 3}, {3, 2}}, large{{10, 10}, {10, 30}, {30, 30}, {30, 10}};
  const Outline outline{{{0, 0}, {40, 0}, {40, 40}, {0, 40}}, {pixel, large}};
  EXPECT_EQ(simplified(outline, 2.0).holes, std::vector<Ring>{large});
  EXPECT_EQ(simplified(outline, 0.5).holes, (std::vector<Ring>{pixel, large}));
}

TEST(Simplify, WhatWouldVanishStaysAsItIs) {
  const Ring pixel{{2, 2}, {3, 2}, {3, 3}, {2, 3}};
  EXPECT_EQ(simplified({pixel, {}}, 10.0).outer, pixel);
}

TEST(Simplify, LinesDoNotCross) {
  // A bulge below 20..40: left out, the outer line would run through the hole in it.
  const Ring outer{{0, 0}, {60, 0}, {60, 10}, {40, 10}, {40, 12}, {20, 12}, {20, 10}, {0, 10}};
  EXPECT_EQ(simplified({outer, {}}, 2.0).outer, (Ring{{0, 0}, {60, 0}, {60, 10}, {0, 10}}));
  const Ring hole{{22, 8}, {22, 11}, {38, 11}, {38, 8}};
  const Outline kept = simplified({outer, {hole}}, 2.0);
  // At half the tolerance one corner of the bulge stays: the line to it passes the hole's corner (22, 11) at y = 11.1.
  EXPECT_EQ(kept.outer, (Ring{{0, 0}, {60, 0}, {60, 10}, {40, 10}, {40, 12}, {0, 10}}));
  EXPECT_EQ(kept.holes, std::vector<Ring>{hole});
}

}  // namespace
}  // namespace tessera
