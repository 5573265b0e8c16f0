#pragma once
#include <cstdlib>

#include "cuda/norm_rows.h"

namespace tessera {

// Sums want few blocks, as the last one adds them up; the others many bytes on their way in few registers. Sums go through
// memory backwards: what the operation before wrote last is still in the L2 cache, and what they read last is there when the
// next kernel begins with it.
struct NormShapes {
  NormShape moments, sums, apply, add, backward;
};

inline constexpr NormShapes kNormShapes[] = {
    {.moments = {.threads = 512, .unroll = 8, .blocks = 1, .last_use = false, .reverse = true},
     .sums = {.threads = 512, .unroll = 4, .blocks = 1, .last_use = false, .reverse = true},
     .apply = {.threads = 256, .unroll = 4, .blocks = 4, .last_use = false},
     .add = {.threads = 256, .unroll = 4, .blocks = 3, .last_use = false},
     .backward = {.threads = 256, .unroll = 4, .blocks = 2, .last_use = false}},
    {.moments = {.threads = 512, .unroll = 14, .blocks = 1, .last_use = false, .reverse = true},
     .sums = {.threads = 512, .unroll = 6, .blocks = 1, .last_use = false, .reverse = true},
     .apply = {.threads = 256, .unroll = 8, .blocks = 3, .last_use = false},
     .add = {.threads = 256, .unroll = 6, .blocks = 2, .last_use = false},
     .backward = {.threads = 256, .unroll = 6, .blocks = 2, .last_use = false}},
    {.moments = {.threads = 512, .unroll = 8, .blocks = 1, .last_use = false, .reverse = true},
     .sums = {.threads = 512, .unroll = 4, .blocks = 1, .last_use = false, .reverse = true},
     .apply = {.threads = 256, .unroll = 4, .blocks = 4, .last_use = true},
     .add = {.threads = 256, .unroll = 4, .blocks = 3, .last_use = true},
     .backward = {.threads = 256, .unroll = 4, .blocks = 2, .last_use = true}},
    {.moments = {.threads = 512, .unroll = 8, .blocks = 1, .last_use = false},
     .sums = {.threads = 512, .unroll = 4, .blocks = 1, .last_use = false},
     .apply = {.threads = 256, .unroll = 4, .blocks = 4, .last_use = false},
     .add = {.threads = 256, .unroll = 4, .blocks = 3, .last_use = false},
     .backward = {.threads = 256, .unroll = 4, .blocks = 2, .last_use = false}},
};

constexpr NormShape norm_apply_shape(int shapes, bool residual) {
  return residual ? kNormShapes[shapes].add : kNormShapes[shapes].apply;
}

// Temporary: TSR_NORM_VARIANT = number of kNormShapes (0 usual, 1 more rows at once, 2 last uses, 3 all forwards), + 4 for more
// blocks than run at once in apply and backward.
inline int norm_variant() {
  static const int variant = [] {
    const char* const text = std::getenv("TSR_NORM_VARIANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return variant;
}

// Calls call(the shapes' number); only bfloat16 has more than one.
template <class S, int kPack, class Call>
void with_norm_shapes(Call&& call) {
  if constexpr (std::is_same_v<S, c10::BFloat16> && kPack == 8) {
    if (norm_variant() % 4 == 1) return call(std::integral_constant<int, 1>{});
    if (norm_variant() % 4 == 2) return call(std::integral_constant<int, 2>{});
    if (norm_variant() % 4 == 3) return call(std::integral_constant<int, 3>{});
  }
  call(std::integral_constant<int, 0>{});
}

}  // namespace tessera
