#include "nn/draw.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "core/rng.h"

namespace tessera {
namespace {

// FNV-1a: a stable number for a name, on every platform and library.
uint64_t hash_name(const std::string& name) {
  uint64_t hash = 1469598103934665603ULL;
  for (const unsigned char c : name) hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

at::Generator generator(uint64_t seed, const std::string& name) {
  Rng word(seed, Stream::kInit, hash_name(name));
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

}  // namespace tessera
