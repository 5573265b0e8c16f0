#include "train/forward_pass.h"

#include <ATen/ATen.h>

#include "core/rank_status.h"
#include "infer/precision.h"
#include "tensor/step_context.h"

namespace tessera {

void LossContexts::add_predictions(const Loss& loss, const ModelOutput& output, const Targets& targets) {
  main.add_predictions(loss.prediction_sums(output.logits(), targets));
  if (output.aux.defined()) aux.add_predictions(loss.prediction_sums(output.aux, targets));
}

void LossContexts::sum_predictions(Communicator& ranks) {
  for (LossContext* context : {&main, &aux}) {
    if (context->prediction_sums.defined()) ranks.sum(context->prediction_sums);
  }
}

std::vector<at::Tensor*> PassInputs::tensors() {
  return {&pixels, &targets.labels, &targets.other, &targets.mix_weight, &sample_keys, &contexts.main.sums, &contexts.aux.sums};
}

ForwardPass::ForwardPass(const Experiment& experiment, SegmentationModel& model, const Loss& loss, at::Device device,
                         NormExchange* exchange, NormStatistics* statistics, StepTrace& trace)
    : experiment_(experiment),
      model_(model),
      loss_(loss),
      device_(device),
      exchange_(exchange),
      statistics_(statistics),
      trace_(trace) {}

PassInputs ForwardPass::inputs(const StepInputs& step, const Pass& pass, const LossContexts& contexts, bool with_pixels) const {
  const TrainConfig& train = experiment_.train;
  const int64_t count = pass.end - pass.begin;
  at::Tensor pixels;
  const ProfiledPart part("copy");
  if (with_pixels) {
    pixels = step.batch.input(pass.begin, pass.end, experiment_.data.normalize, input_type(train.precision));
    if (!train.channels_last) pixels = pixels.contiguous();
  }
  return {pixels, step.targets.narrow(pass.begin, count), step.sample_keys.narrow(0, pass.begin, count), contexts};
}

ModelOutput ForwardPass::output(const PassInputs& inputs, const Pass& pass, bool keeps_statistics) const {
  const StepTrace::Span span(trace_, "forward");
  enter_phase(RankPhase::kForward);
  const StepContextGuard context({.sample_keys = inputs.sample_keys,
                                  .segments = pass.segments,
                                  .norm_rows = pass.rows,
                                  .exchange = exchange_,
                                  .running_statistics = keeps_statistics ? statistics_ : nullptr});
  const AutocastScope autocast(experiment_.train.precision, device_);
  return model_.forward(inputs.pixels);
}

at::Tensor ForwardPass::loss(const ModelOutput& output, const PassInputs& inputs) const {
  const ProfiledPart part("loss");
  const at::Tensor main = loss_.micro_loss(output.scores, inputs.targets, inputs.contexts.main).value;
  if (!output.aux.defined()) return main;
  return main + aux_weight_of(experiment_) * loss_.micro_loss(output.aux, inputs.targets, inputs.contexts.aux).value;
}

}  // namespace tessera
