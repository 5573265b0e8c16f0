#pragma once
#include <memory>
#include <optional>

#include "config/experiment.h"
#include "loss/loss.h"
#include "nn/model.h"
#include "optim/optimizer.h"
#include "tensor/batch.h"
#include "train/arena.h"
#include "train/precision.h"

namespace tessera {

// What a step reports. The tensors stay on the device: reading them waits for it, so only the logger does.
struct StepResult {
  at::Tensor loss;       // scalar: the loss of the global batch
  at::Tensor grad_norm;  // scalar, before clipping
  double lr = 0;
  bool skipped = false;  // fp16: gradients overflowed, weights unchanged
};

// One optimizer step over a global batch: forward and backward in micro-batches, clip, update. The result does not depend on
// the micro-batch: see Note [Exact over micro-batches], Note [Batch-norm units] and kernels/dropout_mask.h. When memory runs
// out the step is undone and tried again in smaller pieces.
class TrainStep {
 public:
  TrainStep(const Experiment& experiment, ModelPtr model, int num_classes, at::Device device);

  StepResult run(const Batch& batch, int64_t step, int64_t total_steps, int64_t steps_per_epoch);

  Arena& arena() { return arena_; }
  Optimizer& optimizer() { return *optimizer_; }
  LossScaler& scaler() { return scaler_; }
  int64_t micro_batch() const { return micro_batch_; }

 private:
  at::Tensor forward_backward(const Batch& batch, int64_t step);
  ModelOutput forward(const at::Tensor& images, float max_value, const std::vector<int64_t>& ids, int64_t step);
  at::Tensor predicted_part(const at::Tensor& labels) const;
  bool shrink_micro_batch();

  Experiment experiment_;
  ModelPtr model_;
  at::Device device_;
  Arena arena_;
  std::unique_ptr<Loss> loss_;
  std::unique_ptr<Optimizer> optimizer_;
  LossScaler scaler_;
  int64_t unit_;  // samples that share batch-norm statistics
  int64_t micro_batch_;
  at::Tensor saved_buffers_;
};

}  // namespace tessera
