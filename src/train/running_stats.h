#pragma once
#include <ATen/core/Tensor.h>

#include "dist/communicator.h"
#include "nn/model.h"
#include "tensor/step_context.h"

namespace tessera {

// Note [Running statistics on several ranks]
// Batch norm's running averages take one update per unit, in order: r <- (1 - m) r + m s. Ranks see different units, so
// none of them can do that alone. But after the U units of a step it amounts to
//
//   r <- (1 - m)^U r + sum over units u of m (1 - m)^(U - 1 - u) s_u
//
// and the sum can be made by all ranks together: each adds up the terms of its own units, in float64.
class RunningStats : public NormStatistics {
 public:
  // buffers: the arena that holds the running averages of the model's batch-norm layers.
  RunningStats(SegmentationModel& model, at::Tensor& buffers, Communicator& communicator);

  void begin(int64_t units);  // of the step
  void add(const at::Tensor& running, const at::Tensor& value, int64_t unit, double momentum) override;
  // A collective: sums up the terms of all ranks, and their losses, which travel with them.
  void sum(const at::Tensor& loss);
  // Then brings the running averages up to date, from what they were before the step. Returns the sum of the losses.
  at::Tensor apply();

 private:
  int64_t offset_of(const at::Tensor& running) const;

  SegmentationModel& model_;
  at::Tensor& buffers_;
  Communicator& communicator_;
  int64_t units_ = 0;
  at::Tensor sums_;
};

}  // namespace tessera
