#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tessera {

// What layers need to know of the step they run in so that their randomness and their statistics do not depend on where
// they run: which samples they see, and how many samples form a batch-norm unit. Set by the trainer around each forward pass.
struct StepContext {
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t norm_group = 0;  // 0: the whole batch is one unit
  at::Tensor sample_ids;   // (N) int64, on the device of the batch
};

const StepContext& step_context();

class StepContextGuard {
 public:
  explicit StepContextGuard(StepContext context);
  ~StepContextGuard();
  StepContextGuard(const StepContextGuard&) = delete;
  StepContextGuard& operator=(const StepContextGuard&) = delete;

 private:
  StepContext saved_;
};

}  // namespace tessera
