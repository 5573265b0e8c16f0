#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tessera {

// Samples [begin, end) of a pass that are of one batch-norm unit; see Note [Batch-norm units] and Note [Who computes what].
struct NormSegment {
  int64_t begin = 0, end = 0;
  int64_t unit = 0;       // of the global batch
  int64_t unit_size = 0;  // its samples, on all ranks
  int64_t row = -1;       // of the statistics that ranks exchange; -1: the unit is whole here
  bool counts = true;     // false: a stand-in on a rank without a sample, which no statistics see
  bool owner = true;      // this rank adds the unit to the running averages
};

// Adds up statistics over ranks, in place.
class NormExchange {
 public:
  virtual ~NormExchange() = default;
  virtual void sum(at::Tensor& statistics) = 0;
};

// Takes a unit's statistics for the running averages, where a layer cannot update them itself.
class NormStatistics {
 public:
  virtual ~NormStatistics() = default;
  virtual void add(const at::Tensor& running, const at::Tensor& value, int64_t unit, double momentum) = 0;
};

// What layers need to know of the step they run in so that their randomness and their statistics do not depend on where
// they run: which samples they see, and which of them form a batch-norm unit. Set by the trainer around each forward pass.
struct StepContext {
  at::Tensor sample_keys = {};                   // (N) int64, of the samples in this step, on the device of the batch
  std::vector<NormSegment> segments = {};        // in order, those with a row first; empty: the whole pass is one unit
  int64_t norm_rows = 0;                         // units that ranks share in this pass
  NormExchange* exchange = nullptr;              // when norm_rows > 0
  NormStatistics* running_statistics = nullptr;  // null: layers update their running averages themselves
};

// What samples draw their random numbers by in a step: (N) int64, functions of (seed, step, id) alone. The step is part of
// them, so that the kernels of a pass are the same in every step, see Note [Recorded pass].
at::Tensor sample_keys(uint64_t seed, int64_t step, const std::vector<int64_t>& ids);

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
