#pragma once
#include <optional>
#include <vector>

#include "data/batch/input_batch.h"
#include "loss/loss.h"
#include "nn/model.h"
#include "train/progressive_resizing.h"

namespace tessera {

// A rank's slice of a global batch, on its device. The passes of a step read it and leave it as it is.
struct StepInputs {
  int64_t step = 0;
  InputBatch batch;
  Targets targets;         // of the pixels that the model predicts
  at::Tensor sample_keys;  // (N): what random numbers of a sample are drawn by
  LossContext labels;      // counts over the labels, which the step adds up over the ranks

  // seed: of the experiment. Labels are below label_end. stand_ins: samples that count nowhere. shrink: none where all of the
  // batch is taken.
  StepInputs(const Batch& batch, int64_t step, uint64_t seed, const SegmentationModel& model, int label_end, at::Device device,
             const std::vector<int64_t>& stand_ins, const std::optional<Shrink>& shrink = {});
};

}  // namespace tessera
