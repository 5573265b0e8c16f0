#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/common/simd_level.h"
#include "kernels/pixels/input_loops.h"

namespace tessera {
namespace {

// As the loops do it.
float quotient(float value, float divisor, float inverse) {
  const float guess = value * inverse;
  return std::fma(std::fma(-guess, divisor, value), inverse, guess);
}

bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

bool is_exact(const RgbScale& scale) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<float>(byte);
    const float share = quotient(value, scale.max_value, scale.inverse_max);
    if (!same_bits(share, value / scale.max_value)) return false;
    for (int c = 0; c < 3; ++c) {
      const float centred = share - scale.mean[c];
      if (!same_bits(quotient(centred, scale.std[c], scale.inverse_std[c]), centred / scale.std[c])) return false;
    }
  }
  return true;
}

}  // namespace

TSR_CHOOSE_LOOPS(InputLoops, kInputLoops, chosen_input_loops)

const InputLoops& input_loops() {
  return chosen_input_loops();
}

std::optional<RgbScale> exact_rgb_scale(float max_value, const float* mean, const float* std) {
  if (input_loops().scale_rgb == nullptr) return std::nullopt;
  RgbScale scale{};
  scale.max_value = max_value;
  scale.inverse_max = 1 / max_value;
  std::copy_n(mean, 3, scale.mean);
  std::copy_n(std, 3, scale.std);
  std::transform(std, std + 3, scale.inverse_std, [](float value) { return 1 / value; });
  return is_exact(scale) ? std::optional(scale) : std::nullopt;
}

}  // namespace tessera
