#include "core/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tessera {
namespace {

TEST(Crc32c, KnowsThePublishedVectors) {
  EXPECT_EQ(crc32c(std::string_view("")), 0U);
  EXPECT_EQ(crc32c(std::string_view("123456789")), 0xE3069283U);
  // RFC 3720, appendix B.4: 32 bytes of zeros, of ones, and counting up.
  EXPECT_EQ(crc32c(std::vector<uint8_t>(32, 0)), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::vector<uint8_t>(32, 0xFF)), 0x62A8AB43U);
  std::vector<uint8_t> counting(32);
  std::iota(counting.begin(), counting.end(), uint8_t{0});
  EXPECT_EQ(crc32c(counting), 0x46DD794EU);
}

TEST(Crc32c, LongAndShortPathsAgree) {
  // Bit by bit, as the definition has it, for every length around the eight-byte stride.
  std::vector<uint8_t> bytes;
  for (int length = 0; length < 40; ++length) {
    uint32_t expected = 0xFFFFFFFFU;
    for (const uint8_t byte : bytes) {
      expected ^= byte;
      for (int bit = 0; bit < 8; ++bit) expected = (expected >> 1) ^ ((expected & 1U) != 0 ? 0x82F63B78U : 0U);
    }
    EXPECT_EQ(crc32c(bytes), ~expected) << "length " << length;
    bytes.push_back(static_cast<uint8_t>(length * 37 + 11));
  }
}

TEST(Crc32c, MaskRotatesBy15AndAdds) {
  EXPECT_EQ(mask_crc32c(0), 0xA282EAD8U);
  EXPECT_EQ(mask_crc32c(0x00008000U), 0xA282EAD9U);  // bit 15 lands in bit 0
}

}  // namespace
}  // namespace tessera
