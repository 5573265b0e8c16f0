#pragma once
#include "cuda/norm/norm_rows.h"

namespace tessera {

// Sums want few blocks, as the last one adds them up; the others many bytes on their way in few registers. Sums go through
// memory backwards: what the operation before wrote last is still in the L2 cache, and what they read last is there when the
// next kernel begins with it. Measured on an H200; more rows at once, more blocks and hints to the cache changed nothing.
inline constexpr NormShape kMomentsShape{.threads = 512, .unroll = 8, .blocks = 1, .reverse = true};
inline constexpr NormShape kSumsShape{.threads = 512, .unroll = 4, .blocks = 1, .reverse = true};
inline constexpr NormShape kApplyShape{.threads = 256, .unroll = 4, .blocks = 4};
inline constexpr NormShape kApplyAddShape{.threads = 256, .unroll = 4, .blocks = 3};
inline constexpr NormShape kBackwardShape{.threads = 256, .unroll = 4, .blocks = 2};

// A thread has the four pixels of one window on their way.
inline constexpr NormShape kPoolApplyShape{.threads = 256, .unroll = 1, .blocks = 3};
inline constexpr NormShape kPoolSumsShape{.threads = 512, .unroll = 1, .blocks = 1, .reverse = true};
inline constexpr NormShape kPoolBackwardShape{.threads = 256, .unroll = 1, .blocks = 2};

constexpr NormShape apply_shape(bool residual) {
  return residual ? kApplyAddShape : kApplyShape;
}

}  // namespace tessera
