#include "storage/content_hash.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Python 3.11's hashlib and xxhash 3.5, of b"tessera".
TEST(ContentHash, IsHashlibsAndXxhashs) {
  const std::map<std::string, std::string> expected = {
      {"blake2b",
       "88cd5da8dbb259a65903278ab10da13ce646755338e6897c9d1e5ffcea5a4f0d6ccbb38e3f0a26a3a83b2414487b4187badad0295e0ce5c0121aac7"
       "c9a971f8e"},
      {"blake2s", "10ec9c77a4a20be538b2f6c9bf9196c94469f1680c236cbdbc1823ab9f14ab3b"},
      {"md5", "4099f1638c92d3e210bf9442dc131fe6"},
      {"sha1", "d13d9e0663f5f01e244d17ba5316bab8c6cce4fe"},
      {"sha224", "17cb36996a949c3b74da95334782e268c8d8ece42f53703fdcb7c6eb"},
      {"sha256", "2f1e83d30fff12f10f4a956d08bd6b200ae89e24621c2066c1a902aab2da7acb"},
      {"sha384", "f27196db75585c4765f262c5f6327eef2b2a3e47aaefc8bc1bbc3dfead7bdb4b73a2cd6deff475e68e38b92232c59cd4"},
      {"sha3_224", "d8cd8bfb860ddef20326e8fcdab8827a8d60b2849242f49df313fb16"},
      {"sha3_256", "797e4ba0cb1b264bafdb87fb55cbb207d289a2f000c092ce3b8bee186a8f07f7"},
      {"sha3_384", "a7a2dffe4ffde3b787d2b9150e314c2672dc6fb26995d9366bc90e1a44b94a9e6b060bdbaddf419415736d2028f0356c"},
      {"sha3_512",
       "15b5d01d643624299fae67c1df9691fe9754f7bb4b957acfb2b2c9e0ea6b164d49e6466796a9571d3680a8d0729ca7eeca413db21a51660c3e5506b"
       "667b5715b"},
      {"sha512",
       "279d5c529e4111dbd4536623cc3cf123c509b427825a2f9bcd6d293d48b8a5666ab6d3b7e93e1410f406303cbe9083f4cd3c36dda04bf8aca600398"
       "87ff0f952"},
      {"xxh128", "157800c744fd9a1904c1a9b49517cd58"},
      {"xxh32", "0bca58c4"},
      {"xxh3_128", "157800c744fd9a1904c1a9b49517cd58"},
      {"xxh3_64", "bf456a4d41446d60"},
      {"xxh64", "6d3de5b3d15a6ed6"},
  };
  EXPECT_EQ(hash_names().size(), expected.size());
  for (const auto& [name, hash] : expected) EXPECT_EQ(content_hash(name, bytes_of("tessera")), hash) << name;
}

TEST(ContentHash, NamesThatAreNoHashAreRefused) {
  EXPECT_FALSE(is_hash_name("crc"));
  EXPECT_THROW(content_hash("shake_128", {}), Error);
}

TEST(ContentHash, DamageIsNamed) {
  const auto bytes = bytes_of("abc");
  check_hashes("a", bytes, {{"xxh32", "32D153FF"}, {"of another time", "00"}});
  try {
    check_hashes("shard.00000.mds", bytes, {{"xxh32", "32d153fe"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("shard.00000.mds is damaged: its xxh32 is 32d153ff, expected 32d153fe"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
