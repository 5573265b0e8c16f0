#include "tensor/cpu_allocator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

class CpuAllocator : public ::testing::Test {
 protected:
  void SetUp() override { install_cpu_allocator(size_t{64} << 20); }
};

TEST_F(CpuAllocator, LargeBlocksComeBackAndStayAligned) {
  const void* first = nullptr;
  {
    const at::Tensor large = at::ones({1 << 20});
    first = large.const_data_ptr();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0U);
  }
  const at::Tensor again = at::zeros({(1 << 20) - 5});  // the same size class
  EXPECT_EQ(again.const_data_ptr(), first);
  EXPECT_EQ(at::empty({0}).numel(), 0);
  EXPECT_EQ(at::ones({3}).sum().item<float>(), 3);
}

TEST_F(CpuAllocator, KeepsNoMoreThanItsLimit) {
  for (int64_t mb = 1; mb < 60; ++mb) at::ones({mb << 18});
  EXPECT_LE(cpu_allocator_cached_bytes(), size_t{64} << 20);
  at::ones({int64_t{100} << 18});  // larger than the limit: not kept
  EXPECT_LE(cpu_allocator_cached_bytes(), size_t{64} << 20);
}

TEST_F(CpuAllocator, ThreadsMayFreeWhatOthersMade) {
  std::vector<at::Tensor> made(64);
  std::thread maker([&] {
    for (size_t i = 0; i < made.size(); ++i) made[i] = at::full({1 << 16}, static_cast<double>(i));
  });
  maker.join();
  for (size_t i = 0; i < made.size(); ++i) EXPECT_EQ(made[i].mean().item<double>(), static_cast<double>(i));
  std::thread([&] { made.clear(); }).join();
}

TEST_F(CpuAllocator, TooMuchIsAnErrorThatTrainingCanCatch) {
  EXPECT_THROW(at::empty({int64_t{1} << 60}), c10::Error);
}

TEST_F(CpuAllocator, CountsWhatWorkNeedsAtItsPeak) {
  const at::Tensor there = at::ones({1 << 20});
  const auto needed = cpu_memory_of([] {
    const at::Tensor kept = at::ones({1 << 20});
    at::ones({1 << 21});  // gone before the next
    at::ones({1 << 20});
  });
  EXPECT_EQ(needed, size_t{3} << 22);
}

TEST_F(CpuAllocator, GivesBackWhatItKeeps) {
  at::ones({1 << 20});
  EXPECT_GT(cpu_allocator_cached_bytes(), 0U);
  empty_cpu_cache();
  EXPECT_EQ(cpu_allocator_cached_bytes(), 0U);
}

}  // namespace
}  // namespace tessera
