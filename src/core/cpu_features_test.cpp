#include "core/cpu_features.h"

#include <gtest/gtest.h>

#include <map>

namespace tessera {
namespace {

using Leaves = std::map<std::pair<uint32_t, uint32_t>, CpuidRegisters>;

constexpr uint64_t kKeepsAll = 0x602e7, kKeepsAvx512 = 0xe7, kKeepsAvx = 0x7;

CpuFeatures of(const Leaves& leaves, uint64_t kept) {
  return cpu_features(
      [&](uint32_t leaf, uint32_t subleaf) {
        const auto found = leaves.find({leaf, subleaf});
        return found == leaves.end() ? CpuidRegisters{} : found->second;
      },
      kept);
}

// As read on a virtual machine of a Xeon with AMX that works.
const Leaves kAmx = {{{0x0, 0}, {0x20, 0x756e6547, 0x6c65746e, 0x49656e69}},
                     {{0x1, 0}, {0xc06f2, 0x4100800, 0xfffa3203, 0x1f8bfbff}},
                     {{0x7, 0}, {0x2, 0xf1bf27eb, 0x1b415fde, 0xbfd14410}},
                     {{0x7, 1}, {0x1c30, 0, 0, 0}},
                     {{0x1d, 0}, {0x1, 0, 0, 0}},
                     {{0x1d, 1}, {0x4002000, 0x80040, 0x10, 0}}};
// As read on a virtual machine of the same processor that hides AMX and bfloat16 altogether.
const Leaves kNoAmx = {{{0x0, 0}, {0x1c, 0x756e6547, 0x6c65746e, 0x49656e69}},
                       {{0x1, 0}, {0xc06f2, 0x800, 0xf7fa3203, 0x1f8bfbff}},
                       {{0x7, 0}, {0x1, 0xf1bf2ffb, 0x415f46, 0x20000010}},
                       {{0x7, 1}, {0, 0, 0, 0}}};
// An AMD Zen 4: AVX-512 with bfloat16, no AMX.
const Leaves kZen4 = {{{0x0, 0}, {0x10, 0x68747541, 0x444d4163, 0x69746e65}},
                      {{0x1, 0}, {0xa20f12, 0x100800, 0x7ef8320b, 0x178bfbff}},
                      {{0x7, 0}, {0x1, 0xf1bf97a9, 0x405fce, 0x10000010}},
                      {{0x7, 1}, {0x20, 0, 0, 0}}};

Leaves without_tiles(uint32_t max_leaf) {
  Leaves leaves = kAmx;
  leaves.at({0, 0}).eax = max_leaf;
  leaves.erase({0x1d, 0});
  leaves.erase({0x1d, 1});
  return leaves;
}

TEST(CpuFeatures, AmxWithItsTilesIsLeftAlone) {
  const CpuFeatures found = of(kAmx, kKeepsAll);
  EXPECT_TRUE(found.sse4_1 && found.avx2 && found.avx512 && found.avx512_bf16 && found.amx_announced && found.amx_described &&
              found.amx_bf16);
  EXPECT_EQ(onednn_limit(found), "");
}

TEST(CpuFeatures, OneDnnStaysBelowAmxWhereTheLeafOfTilesIsHidden) {
  for (const uint32_t max_leaf : {0x1cU, 0x20U}) {  // cut off, or there and empty
    const CpuFeatures found = of(without_tiles(max_leaf), kKeepsAll);
    EXPECT_TRUE(found.amx_announced);
    EXPECT_FALSE(found.amx_described);
    EXPECT_FALSE(found.amx_bf16);
    EXPECT_EQ(onednn_limit(found), "AVX512_CORE_FP16") << max_leaf;
  }
}

TEST(CpuFeatures, ALeafBeyondTheLastIsNotBelieved) {
  // Intel processors answer such a leaf with the values of their last one.
  Leaves leaves = kAmx;
  leaves.at({0, 0}).eax = 0x1c;
  EXPECT_EQ(onednn_limit(of(leaves, kKeepsAll)), "AVX512_CORE_FP16");
}

TEST(CpuFeatures, NoLimitWithoutAmx) {
  for (const Leaves& leaves : {kNoAmx, kZen4}) EXPECT_EQ(onednn_limit(of(leaves, kKeepsAvx512)), "");
}

TEST(CpuFeatures, FindsBfloat16InVectors) {
  EXPECT_TRUE(of(kZen4, kKeepsAvx512).avx512_bf16);
  const CpuFeatures none = of(kNoAmx, kKeepsAvx512);
  EXPECT_TRUE(none.avx512);
  EXPECT_FALSE(none.avx512_bf16 || none.amx_bf16 || none.amx_announced);
}

TEST(CpuFeatures, RegistersThatTheSystemDoesNotKeepAreNotThere) {
  EXPECT_FALSE(of(kAmx, kKeepsAvx512).amx_bf16);
  EXPECT_TRUE(of(kAmx, kKeepsAvx).avx2);
  EXPECT_FALSE(of(kAmx, kKeepsAvx).avx512);
  EXPECT_FALSE(of(kAmx, 0).avx2);
}

TEST(CpuFeatures, SaysWhatLibtorchLacks) {
  EXPECT_EQ(missing_instructions(of(kNoAmx, kKeepsAvx512)), "");
#if defined(__x86_64__)
  const Leaves core2 = {{{0x0, 0}, {0xa, 0, 0, 0}}, {{0x1, 0}, {0x6fb, 0, 0xe3bd, 0}}};  // SSSE3 at most
  EXPECT_EQ(missing_instructions(of(core2, 0)), "SSE4.1");
#endif
}

TEST(CpuFeatures, TheMachineOfThisTestRunsLibtorch) {
  EXPECT_EQ(missing_instructions(cpu_features()), "");
}

}  // namespace
}  // namespace tessera
