#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace tessera {

// Float32 numbers for the parameter `name`: a function of (seed, name, shape) alone, so that adding a layer elsewhere does not
// change them.
at::Tensor draw_normal(uint64_t seed, const std::string& name, at::IntArrayRef shape);                // mean 0, variance 1
at::Tensor draw_uniform(uint64_t seed, const std::string& name, at::IntArrayRef shape, double half);  // in [-half, half)
at::Tensor draw_truncated(uint64_t seed, const std::string& name, at::IntArrayRef shape);  // mean 0, variance 1, see below

// draw_truncated: a normal distribution cut at two of its deviations and widened until its variance is 1, as in jax's
// variance_scaling(..., "truncated_normal").

}  // namespace tessera
