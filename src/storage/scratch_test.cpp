#include "storage/scratch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

TEST(Scratch, HoldsWhatWasWrittenAsLongAsAPartIsHeld) {
  Blob part;
  {
    const Blob all = make_scratch(100'000, [](std::span<uint8_t> bytes) {
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i % 251);
    });
    EXPECT_EQ(all.size(), 100'000U);
    part = all.part(99'000, 1000);
  }
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(part.bytes[i], (99'000 + i) % 251);
}

TEST(Scratch, MayBeEmptyAndMayFail) {
  EXPECT_EQ(make_scratch(0, [](std::span<uint8_t> bytes) { EXPECT_TRUE(bytes.empty()); }).size(), 0U);
  EXPECT_THROW(make_scratch(10, [](std::span<uint8_t>) { fail("no"); }), Error);
}

}  // namespace
}  // namespace tessera
