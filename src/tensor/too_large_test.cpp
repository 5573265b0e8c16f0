#include "tensor/too_large.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace tessera {
namespace {

template <class Throw>
std::string why(Throw&& throws) {
  try {
    throws();
  } catch (const std::exception& e) {
    return why_too_large(e);
  }
  return "nothing was thrown";
}

TEST(TooLarge, EveryAllocatorIsUnderstood) {
  constexpr int64_t kNobodyHasThat = int64_t{1} << 50;
  EXPECT_EQ(why([] { at::empty({kNobodyHasThat}); }), "out of memory");
  EXPECT_EQ(why([] { std::vector<char> all(kNobodyHasThat); }), "out of memory");
  EXPECT_EQ(why([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory"); }), "out of memory");
  EXPECT_EQ(why([] { throw std::system_error(EAGAIN, std::generic_category(), "a thread"); }), "out of memory");
}

TEST(TooLarge, OtherErrorsAreNot) {
  EXPECT_EQ(why([] { throw std::system_error(EACCES, std::generic_category(), "a file"); }), "");
  EXPECT_EQ(why([] { TORCH_CHECK(false, "shapes differ"); }), "");
  EXPECT_EQ(why([] { fail("no such file"); }), "");
}

TEST(TooLarge, WhatFoundNoMemoryIsMadeOnceMore) {
  int made = 0;
  const auto make_at_second_try = [&] { return ++made == 2 ? made : throw std::bad_alloc(); };
  EXPECT_EQ(make_with_kept_memory(make_at_second_try), 2);
  EXPECT_THROW(make_with_kept_memory([]() -> int { throw std::bad_alloc(); }), std::bad_alloc);
  made = 0;
  EXPECT_THROW(make_with_kept_memory([&] {
                 ++made;
                 fail("no such file");
               }),
               Error);
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace tessera
