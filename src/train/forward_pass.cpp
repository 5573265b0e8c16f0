#include "train/forward_pass.h"

#include <ATen/ATen.h>

#include "core/rank_status.h"
#include "infer/precision.h"
#include "tensor/step_context.h"

namespace tessera {

LossContext LossContexts::aux(size_t output) const {
  LossContext context = main;
  context.prediction_sums = output < aux_predictions.size() ? aux_predictions[output] : at::Tensor();
  return context;
}

void LossContexts::add_predictions(const Loss& loss, const ModelOutput& output, const Targets& targets) {
  main.add_predictions(loss.prediction_sums(output.logits(), targets));
  aux_predictions.resize(output.aux.size());
  for (size_t i = 0; i < output.aux.size(); ++i) {
    const at::Tensor sums = loss.prediction_sums(output.aux[i], targets);
    aux_predictions[i] = aux_predictions[i].defined() ? aux_predictions[i] + sums : sums;
  }
}

void LossContexts::sum_predictions(Communicator& ranks) {
  if (main.prediction_sums.defined()) ranks.sum(main.prediction_sums);
  for (at::Tensor& sums : aux_predictions) ranks.sum(sums);
}

std::vector<at::Tensor*> PassInputs::tensors() {
  return {&pixels, &targets.labels, &targets.other, &targets.mix_weight, &sample_keys, &contexts.main.sums};
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
  at::Tensor total = loss_.micro_loss(output.scores, inputs.targets, inputs.contexts.main).value;
  if (output.aux.empty()) return total;
  const std::vector<double> weights = output_weights(experiment_, output.aux.size());
  if (weights[0] != 1) total = weights[0] * total;
  for (size_t i = 0; i < output.aux.size(); ++i)
    total = total + weights[i + 1] * loss_.micro_loss(output.aux[i], inputs.targets, inputs.contexts.aux(i)).value;
  return total;
}

}  // namespace tessera
