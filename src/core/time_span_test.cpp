#include "core/time_span.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

TEST(TimeSpan, UnitsAddUp) {
  EXPECT_EQ(parse_time_span("3h50m"), 3 * 3600 + 50 * 60);
  EXPECT_EQ(parse_time_span("90m"), 5400);
  EXPECT_EQ(parse_time_span("90min"), 5400);
  EXPECT_EQ(parse_time_span("1h30min15s"), 5415);
  EXPECT_EQ(parse_time_span("1.5h"), 5400);
  EXPECT_EQ(parse_time_span("1d2h3m4s"), 86400 + 7200 + 180 + 4);
}

TEST(TimeSpan, WhatIsNoneSaysHowToWriteOne) {
  for (const char* text : {"", "3", "h", "3x", "50m3h", "3h3h", "0s", "-1h", "1h2", "3m4min", "1e3s", "infh", "nans", "1.2.3h",
                           "3h 50m", "99999999999h"}) {
    try {
      parse_time_span(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("3h50m"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace tessera
