#pragma once
#include <optional>
#include <vector>

#include "data/batch/input_batch.h"
#include "dist/batch_plan.h"
#include "loss/loss.h"
#include "nn/model.h"

namespace tessera {

// A rank's part of a step, on its device: what its passes read.
struct StepInputs {
  InputBatch batch;
  at::Tensor pixels;  // network input of the only pass; undefined: each makes its own
  Targets targets;
  at::Tensor sample_keys;
  LossContext context, aux_context;  // their sums over predictions differ
  std::optional<ModelOutput> first;  // of the only pass, where the sums needed it already

  // keys: sample_keys() of the batch. stand_ins: samples that count nowhere.
  StepInputs(const Batch& batch, const at::Tensor& keys, const SegmentationModel& model, int num_classes, at::Device device,
             const std::vector<int64_t>& stand_ins);

  // All that the only pass reads and that differs from step to step.
  std::vector<at::Tensor*> read() {
    return {&pixels, &targets.labels, &targets.other, &targets.mix_weight, &sample_keys, &context.sums, &aux_context.sums};
  }
  Targets targets_of(const Pass& pass) const { return targets.narrow(pass.begin, pass.end - pass.begin); }
};

}  // namespace tessera
