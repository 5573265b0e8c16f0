#include "tensor/step_context.h"

#include <ATen/ops/tensor.h>

#include <utility>

#include "core/rng.h"

namespace tessera {
namespace {

StepContext& current() {
  thread_local StepContext context;
  return context;
}

}  // namespace

at::Tensor sample_keys(uint64_t seed, int64_t step, const std::vector<int64_t>& ids) {
  std::vector<int64_t> keys;
  for (const int64_t id : ids) {
    Rng draw(seed, Stream::kDropout, static_cast<uint64_t>(step), static_cast<uint64_t>(id));
    const uint64_t high = draw.bits();
    keys.push_back(static_cast<int64_t>((high << 32) | draw.bits()));
  }
  return at::tensor(keys, at::kLong);
}

const StepContext& step_context() {
  return current();
}

StepContextGuard::StepContextGuard(StepContext context) : saved_(std::exchange(current(), std::move(context))) {}

StepContextGuard::~StepContextGuard() {
  current() = std::move(saved_);
}

}  // namespace tessera
