#include "config/byte_size.h"

#include <gtest/gtest.h>

#include "support/messages.h"

namespace tessera {
namespace {

TEST(ByteSize, ReadsUnits) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"4096", 4096},      {"1kB", 1000},        {"200GB", 200'000'000'000}, {"1.5 TB", 1500000000000},
      {"64MiB", 64 << 20}, {"2g", 2'000'000'000}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_byte_size(text, "k"), bytes) << text;
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "GB", "-1GB", "0", "12 parsec", "1e30", "nan", "inf GB"})
    EXPECT_CONTAINS(testing::message_of<UsageError>([&] { parse_byte_size(text, "data.cache_limit"); }), "data.cache_limit")
        << text;
}

}  // namespace
}  // namespace tessera
