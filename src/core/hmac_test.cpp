#include "core/hmac.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Hmac, IsThatOfRfc4231) {
  EXPECT_EQ(hex_of(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex_of(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex_of(hmac_sha256("", "")), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(Hmac, ComparesWholeCodes) {
  EXPECT_TRUE(same_code("abc", "abc"));
  EXPECT_TRUE(same_code("", ""));
  for (const char* other : {"", "ab", "abd", "bbc", "abcd"}) EXPECT_FALSE(same_code("abc", other)) << other;
}

TEST(Hmac, RandomBytesAreNeverTheSame) {
  EXPECT_EQ(random_bytes(32).size(), 32U);
  EXPECT_NE(random_bytes(32), random_bytes(32));
}

}  // namespace
}  // namespace tessera
