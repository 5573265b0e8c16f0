#include "report/number_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

TEST(NumberText, GroupsThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(-1000), "-1,000");
  EXPECT_EQ(count_text(-100), "-100");
}

TEST(NumberText, ShortensNumbers) {
  EXPECT_EQ(percent_text(0.43871), "43.87");
  EXPECT_EQ(percent_text(1.0, 0), "100");
  EXPECT_EQ(percent_unit_text(0.5, 1), "50.0\u00a0%");
  EXPECT_EQ(short_text(0.000123456), "0.000123");
  EXPECT_EQ(short_text(1234.5), "1,235");
  EXPECT_EQ(large_text(43580000), "43.6 M");
  EXPECT_EQ(large_text(116516), "116,516");
}

TEST(NumberText, TellsDurationsInTwoUnits) {
  EXPECT_EQ(duration_text(0.25), "0.2 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(61), "1 min 1 s");
  EXPECT_EQ(duration_text(11520), "3 h 12 min");
  EXPECT_EQ(duration_text(100 * 3600), "4 d 4 h");
}

TEST(NumberText, TellsTimesInUtc) {
  EXPECT_EQ(time_text(1740837900.5), "2025-03-01 14:05 UTC");
}

TEST(NumberText, NanIsADash) {
  EXPECT_EQ(percent_text(NAN), "–");
  EXPECT_EQ(percent_unit_text(NAN), "–");
  EXPECT_EQ(short_text(NAN), "–");
  EXPECT_EQ(duration_text(NAN), "–");
  EXPECT_EQ(time_text(NAN), "–");
}

}  // namespace
}  // namespace tessera
