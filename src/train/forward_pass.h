#pragma once
#include <optional>
#include <vector>

#include "config/experiment.h"
#include "dist/batch_plan.h"
#include "loss/loss.h"
#include "nn/model.h"
#include "train/step_inputs.h"
#include "train/step_trace.h"

namespace tessera {

// What the losses of a model's main and auxiliary logits divide by; their sums over predictions differ.
struct LossContexts {
  LossContext main;
  std::vector<at::Tensor> aux_predictions;  // the sums of each auxiliary output; empty where there are none

  explicit LossContexts(const LossContext& labels) : main(labels) {}

  LossContext aux(size_t output) const;

  void add_predictions(const Loss& loss, const ModelOutput& output, const Targets& targets);
  void sum_predictions(Communicator& ranks);  // where there are any. A collective
};

// What one pass reads. A recording puts other tensors of the same shapes into their places: Note [Recorded pass].
struct PassInputs {
  at::Tensor pixels;  // (N, C, H, W): network input
  Targets targets;
  at::Tensor sample_keys;
  LossContexts contexts;

  std::vector<at::Tensor*> tensors();
};

// How samples become a loss: through the model, with batch norm over the ranks where units are spread.
class ForwardPass {
 public:
  // All must outlive it. exchange, statistics: null when alone.
  ForwardPass(const Experiment& experiment, SegmentationModel& model, const Loss& loss, at::Device device,
              NormExchange* exchange, NormStatistics* statistics, StepTrace& trace);

  // The inputs of a pass; the pixels are left out where `with_pixels` is not set, for a pass whose output is there already.
  PassInputs inputs(const StepInputs& step, const Pass& pass, const LossContexts& contexts, bool with_pixels = true) const;

  // keeps_statistics: batch norm's running averages take the pass into account.
  ModelOutput output(const PassInputs& inputs, const Pass& pass, bool keeps_statistics) const;

  // This pass's part of the loss of the global batch.
  at::Tensor loss(const ModelOutput& output, const PassInputs& inputs) const;

 private:
  const Experiment& experiment_;
  SegmentationModel& model_;
  const Loss& loss_;
  at::Device device_;
  NormExchange* exchange_;
  NormStatistics* statistics_;
  StepTrace& trace_;
};

}  // namespace tessera
