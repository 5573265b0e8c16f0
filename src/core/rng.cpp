#include "core/rng.h"

#include <cmath>
#include <numbers>

namespace tessera {
namespace {

// SplitMix64's finalizer: spreads the few bits of a seed or index over the whole word.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The logarithm of a Gamma(shape) number: by the method of Marsaglia and Tsang (2000) for shape >= 1, from that of shape + 1
// below. The logarithm, because for small shapes the number itself is often too small for a double.
double log_gamma(Rng& rng, double shape) {
  if (shape < 1) {
    const double larger = log_gamma(rng, shape + 1);
    return larger + std::log(1.0 - rng.uniform()) / shape;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = rng.normal(), root = 1 + c * x, log_u = std::log(1.0 - rng.uniform());
    if (root <= 0) continue;
    const double v = root * root * root;
    if (log_u < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d) + std::log(v);
  }
}

}  // namespace

Rng::Rng(uint64_t seed, Stream stream, uint64_t a, uint64_t b) : key_(mix(mix(seed) + static_cast<uint64_t>(stream))) {
  const uint64_t place = mix(mix(a) ^ (b * 0xd1342543de82ef95ULL + 1));
  counter_ = {0, 0, static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32)};
}

Rng Rng::fork(uint32_t index) const {
  Rng child = *this;
  child.counter_[0] = 0;
  child.counter_[1] = static_cast<uint32_t>(mix((uint64_t{counter_[1]} << 32) | (index + 1)));
  child.used_ = 4;
  return child;
}

uint32_t Rng::bits() {
  if (used_ == 4) {
    block_ = philox(key_, counter_[0], counter_[1], counter_[2], counter_[3]);
    ++counter_[0];
    used_ = 0;
  }
  return block_.word[used_++];
}

double Rng::uniform() {
  const uint64_t high = bits() >> 5, low = bits() >> 6;  // 53 bits, as a double holds
  return static_cast<double>((high << 26) | low) * 0x1.0p-53;
}

double Rng::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

uint32_t Rng::below(uint32_t bound) {
  // Lemire's multiply-and-reject: exact for every bound, one draw almost always.
  uint64_t product = uint64_t{bits()} * bound;
  if (static_cast<uint32_t>(product) < bound) {
    const uint32_t threshold = (0u - bound) % bound;
    while (static_cast<uint32_t>(product) < threshold) product = uint64_t{bits()} * bound;
  }
  return static_cast<uint32_t>(product >> 32);
}

double Rng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double Rng::beta(double a, double b) {
  const double log_x = log_gamma(*this, a), log_y = log_gamma(*this, b);
  return 1 / (1 + std::exp(log_y - log_x));
}

}  // namespace tessera
