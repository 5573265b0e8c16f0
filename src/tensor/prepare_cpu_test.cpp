#include "tensor/prepare_cpu.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace tessera {
namespace {

TEST(PrepareCpu, Bfloat16IsFastWithAmxThatMayBeUsed) {
  const CpuFeatures amx{.sse4_1 = true,
                        .avx2 = true,
                        .avx512 = true,
                        .avx512_bf16 = true,
                        .amx_announced = true,
                        .amx_described = true,
                        .amx_bf16 = true};
  EXPECT_TRUE(has_fast_bf16(amx, ""));
  EXPECT_TRUE(has_fast_bf16(amx, "ALL"));
  EXPECT_TRUE(has_fast_bf16(amx, "AVX512_CORE_AMX"));
  EXPECT_FALSE(has_fast_bf16(amx, "AVX512_CORE_FP16"));
  CpuFeatures vectors = amx;
  vectors.amx_bf16 = false;
  EXPECT_FALSE(has_fast_bf16(vectors, ""));
  EXPECT_FALSE(has_fast_bf16({}, ""));
}

TEST(PrepareCpu, SaysWhatWasFoundAndDone) {
  const CpuFeatures hidden{.sse4_1 = true, .avx2 = true, .avx512 = true, .avx512_bf16 = true, .amx_announced = true};
  EXPECT_EQ(describe_instructions(hidden, {"AVX512_CORE_FP16", true}),
            "AVX-512, bfloat16 in vectors; AMX is announced but its tiles are hidden; oneDNN uses at most AVX512_CORE_FP16 "
            "(ONEDNN_MAX_CPU_ISA by tessera); bf16 is no faster than fp32");
  EXPECT_EQ(describe_instructions({.sse4_1 = true, .avx2 = true}, {"AVX2", false}),
            "AVX2; oneDNN uses at most AVX2 (ONEDNN_MAX_CPU_ISA by your environment); bf16 is no faster than fp32");
}

// The variable is set by main, long after libraries were loaded: oneDNN must not have looked before.
TEST(PrepareCpuDeathTest, OneDnnHeedsAVariableThatIsSetBeforeItsFirstUse) {
  if (!cpu_features().avx2) GTEST_SKIP() << "needs AVX2";
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a new process, in which nothing has been computed
  EXPECT_EXIT(
      {
        ::dup2(STDERR_FILENO, STDOUT_FILENO);
        ::setenv("ONEDNN_VERBOSE", "1", 1);
        ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
        at::conv2d(at::ones({16, 16, 32, 32}), at::ones({16, 16, 3, 3}));
        std::fflush(stdout);
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "isa:Intel AVX2");
}

TEST(PrepareCpu, TellsHowOneDnnIsBound) {
  // The main of this program has prepared the CPU.
  const OneDnnBound bound = onednn_bound();
  EXPECT_EQ(bound.by_us, !onednn_limit(cpu_features()).empty() && bound.isa == onednn_limit(cpu_features()));
}

}  // namespace
}  // namespace tessera
