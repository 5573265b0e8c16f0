#include "nn/init/draw.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <numbers>

#include "core/name_hash.h"
#include "core/rng.h"

namespace tessera {
namespace {

at::Generator generator(uint64_t seed, const std::string& name) {
  Rng word(seed, Stream::kInit, name_hash(name));
  const uint64_t high = word.bits(), low = word.bits();
  return at::make_generator<at::CPUGeneratorImpl>((high << 32) | low);
}

}  // namespace

at::Tensor draw_normal(uint64_t seed, const std::string& name, at::IntArrayRef shape) {
  return at::randn(shape, generator(seed, name), at::TensorOptions(at::kFloat));
}

at::Tensor draw_uniform(uint64_t seed, const std::string& name, at::IntArrayRef shape, double half) {
  return (at::rand(shape, generator(seed, name), at::TensorOptions(at::kFloat)) * 2 - 1) * half;
}

at::Tensor draw_truncated(uint64_t seed, const std::string& name, at::IntArrayRef shape) {
  constexpr double kCut = 2, kDeviation = 0.87962566103423978;  // what the cut leaves of a deviation of 1
  const double share = std::erf(kCut / std::numbers::sqrt2);
  const at::Tensor cut = at::erfinv(draw_uniform(seed, name, shape, share)) * std::numbers::sqrt2;
  return cut.clamp(-kCut, kCut) / kDeviation;  // rounding at the ends
}

}  // namespace tessera
