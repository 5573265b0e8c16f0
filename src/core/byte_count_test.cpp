#include "core/byte_count.h"

#include <gtest/gtest.h>

#include "support/messages.h"

namespace tessera {
namespace {

TEST(ByteCount, UnitsOfThousandsAndOf1024) {
  EXPECT_EQ(parse_byte_count("100GB", "x"), 100'000'000'000);
  EXPECT_EQ(parse_byte_count("1.5 TB", "x"), 1'500'000'000'000);
  EXPECT_EQ(parse_byte_count("64MiB", "x"), 64 << 20);
  EXPECT_EQ(parse_byte_count("2gib", "x"), int64_t{2} << 30);
  EXPECT_EQ(parse_byte_count("3kB", "x"), 3000);
  EXPECT_EQ(parse_byte_count("4096", "x"), 4096);
  EXPECT_EQ(parse_byte_count("7B", "x"), 7);
}

TEST(ByteCount, AnythingElseIsRefused) {
  for (const char* bad : {"", "GB", "-1GB", "0", "0.1", "1XB", "1GBps", "1e30", "nan", "inf", "99999999TB", "1 G B"}) {
    EXPECT_CONTAINS(testing::message_of<UsageError>([&] { parse_byte_count(bad, "data.limit"); }), "data.limit=") << bad;
  }
}

}  // namespace
}  // namespace tessera
