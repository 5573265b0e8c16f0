#include "data/decode/jpeg_code_table.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/cpu_features.h"
#include "core/rng.h"

namespace tessera {

#ifdef __x86_64__
namespace avx2 {
extern const JpegLoops kJpegLoops;
}
namespace avx512 {
extern const JpegLoops kJpegLoops;
}
#endif

namespace {

using Counts = std::array<uint8_t, 17>;
using Symbols = std::array<uint8_t, 256>;

// Three codes: 0, 10 and 110, for the end of a block, a coefficient of 2 bits, and one of 1 bit behind a zero.
TEST(JpegCodeTable, ALookUpTellsTwoCoefficients) {
  CodeTable table;
  ASSERT_TRUE(make_code_table(Counts{0, 1, 1, 1}, Symbols{0x00, 0x02, 0x11}, CodeKind::kAc, table));
  const CodeEntry& ends = table.entries[0];
  EXPECT_EQ(ends.bits, 1);
  EXPECT_EQ(ends.step, (std::array<uint8_t, 2>{kEndOfBlock, 0}));
  // 10 and two bits, from -3 on; 110 and 0, a zero and -1.
  const CodeEntry& two = table.entries[0b1011'1100'00];
  EXPECT_EQ(two.code_bits, 2);
  EXPECT_EQ(63 - two.value_shift, 2);
  EXPECT_EQ(two.least, -3);
  EXPECT_EQ(two.bits, 8);
  EXPECT_EQ(two.second, -1);
  EXPECT_EQ(two.step, (std::array<uint8_t, 2>{1, 2}));
  // 10 and two bits, and the block ends.
  const CodeEntry& last = table.entries[0b1000'0000'00];
  EXPECT_EQ(last.bits, 5);
  EXPECT_EQ(last.step, (std::array<uint8_t, 2>{1, kEndOfBlock}));
  // No code begins with 111.
  EXPECT_EQ(table.entries[0b1110'0000'00].bits, 0);
}

TEST(JpegCodeTable, ACodeMayLieInTheLookUpWithoutItsValue) {
  CodeTable table;
  ASSERT_TRUE(make_code_table(Counts{0, 0, 1}, Symbols{0x0A}, CodeKind::kAc, table));  // 00 and 10 bits
  EXPECT_EQ(table.entries[0].bits, 12);
  EXPECT_EQ(table.entries[0].least, -1023);
  EXPECT_EQ(table.entries[0].step[1], 0);
}

TEST(JpegCodeTable, ImpossibleCodesAreRefused) {
  CodeTable table;
  EXPECT_FALSE(make_code_table(Counts{0, 2}, Symbols{1, 2}, CodeKind::kAc, table));        // 1 is all ones
  EXPECT_FALSE(make_code_table(Counts{0, 1, 3}, Symbols{1, 2, 3}, CodeKind::kAc, table));  // more than there are
  EXPECT_FALSE(make_code_table(Counts{0, 1}, Symbols{12}, CodeKind::kDc, table));          // no difference has 12 bits
  EXPECT_FALSE(make_code_table(Counts{0, 1}, Symbols{0x0B}, CodeKind::kAc, table));        // no coefficient has 11
  EXPECT_FALSE(make_code_table(Counts{0, 1}, Symbols{0x10}, CodeKind::kAc, table));        // ends several blocks
  Counts many{};
  many[9] = many[10] = 200;
  EXPECT_FALSE(make_code_table(many, Symbols{}, CodeKind::kAc, table));  // more than symbols
}

#ifdef __x86_64__

// Bits without a meaning, read until they contradict the codes.
TEST(JpegCodeTable, ScansAreReadAlikeByAllLoops) {
  if (!cpu_features().avx512) GTEST_SKIP() << "needs AVX-512";
  Rng rng(3, Stream::kSynthetic);
  CodeTable dc, ac;
  Counts counts{};
  Symbols symbols{};
  counts[3] = 7;
  for (uint8_t i = 0; i < 7; ++i) symbols[i] = i;
  ASSERT_TRUE(make_code_table(counts, symbols, CodeKind::kDc, dc));
  counts = {0, 0, 1, 1, 2, 4, 6, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8};
  for (size_t i = 0; i < symbols.size(); ++i) symbols[i] = static_cast<uint8_t>((i % 6 << 4) + 1 + i / 6 % 10);
  symbols[0] = 0;
  ASSERT_TRUE(make_code_table(counts, symbols, CodeKind::kAc, ac));
  int whole = 0;
  for (int round = 0; round < 2000; ++round) {
    constexpr size_t kBytes = 1000;
    std::vector<uint8_t> bytes(kBytes + kBytesBehind);
    for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<uint8_t>(rng.bits());
    const int mcus = 1 + static_cast<int>(rng.below(8));
    struct Result {
      bool done = false;
      std::vector<int16_t> blocks;
      ptrdiff_t bits = 0;
      int last_dc = 0;
    };
    std::vector<Result> results;
    for (const JpegLoops* loops : {&avx2::kJpegLoops, &avx512::kJpegLoops}) {
      for (const bool kept : {true, false}) {
        Result result;
        result.blocks.resize(static_cast<size_t>(mcus) * kBlockValues);
        ScanComponent component{&dc, &ac, 1, 1, 0, {result.blocks.data(), nullptr}};
        ScanPlace place{bytes.data(), bytes.data() + kBytes};
        result.done = (kept ? loops->read_mcus : loops->skip_mcus)(place, &component, 1, mcus);
        result.bits = (place.next - bytes.data()) * 8 - place.count;
        result.last_dc = component.last_dc;
        results.push_back(std::move(result));
      }
    }
    for (const Result& result : results) {
      ASSERT_EQ(result.done, results[0].done);
      ASSERT_EQ(result.bits, results[0].bits);
      ASSERT_EQ(result.last_dc, results[0].last_dc);
    }
    ASSERT_TRUE(results[0].blocks == results[2].blocks);
    whole += results[0].done ? 1 : 0;
  }
  EXPECT_GT(whole, 100);
}

#endif

}  // namespace
}  // namespace tessera
