#include "infer/torch_settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <memory>

namespace tessera {
namespace {

const at::Device kGpu(at::kCUDA, 0);  // flags are set for one whether it is there or not

TrainConfig asks_for(Precision precision, bool deterministic) {
  TrainConfig config;
  config.precision = precision;
  config.deterministic = deterministic;
  return config;
}

TEST(TorchSettings, AreAsTheyWereAfterTheScope) {
  at::Context& context = at::globalContext();
  const bool tf32 = context.allowTF32CuDNN(), cublas = context.allowTF32CuBLAS(), benchmark = context.benchmarkCuDNN();
  const bool fill = context.deterministicFillUninitializedMemory();
  {
    const TorchSettings run(asks_for(Precision::kTf32, /*deterministic=*/true), kGpu);
    EXPECT_TRUE(context.allowTF32CuBLAS());
    EXPECT_TRUE(context.deterministicAlgorithms());
    EXPECT_TRUE(context.deterministicAlgorithmsWarnOnly());
    EXPECT_FALSE(context.deterministicFillUninitializedMemory());
    {
      const TorchSettings inner(asks_for(Precision::kFp64, /*deterministic=*/false), kGpu);
      EXPECT_FALSE(context.allowTF32CuDNN());
      EXPECT_TRUE(context.benchmarkCuDNN());
    }
    EXPECT_TRUE(context.allowTF32CuDNN());
    EXPECT_FALSE(context.benchmarkCuDNN());
    EXPECT_TRUE(context.deterministicAlgorithms());
  }
  EXPECT_EQ(context.allowTF32CuDNN(), tf32);
  EXPECT_EQ(context.allowTF32CuBLAS(), cublas);
  EXPECT_EQ(context.benchmarkCuDNN(), benchmark);
  EXPECT_EQ(context.deterministicFillUninitializedMemory(), fill);
  EXPECT_FALSE(context.deterministicAlgorithms());
  EXPECT_FALSE(context.deterministicAlgorithmsWarnOnly());
}

// As ranks that are threads do.
TEST(TorchSettings, TheLastOfSeveralRestores) {
  at::Context& context = at::globalContext();
  auto first = std::make_unique<TorchSettings>(asks_for(Precision::kTf32, false), kGpu);
  const auto second = std::make_unique<TorchSettings>(asks_for(Precision::kTf32, false), kGpu);
  first.reset();
  EXPECT_TRUE(context.allowTF32CuBLAS());
}

TEST(TorchSettings, ThreadsAreThoseOfTheConfigWhileItLives) {
  const int before = at::get_num_threads();
  TrainConfig config;
  config.threads = before + 1;
  {
    const TorchSettings run(config, at::kCPU);
    EXPECT_EQ(at::get_num_threads(), before + 1);
  }
  EXPECT_EQ(at::get_num_threads(), before);
}

}  // namespace
}  // namespace tessera
