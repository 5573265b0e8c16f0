#include "train/train_step.h"

#include <c10/core/GradMode.h>

#include "core/class_bits.h"
#include "core/rank_status.h"
#include "infer/torch_settings.h"
#include "optim/clip.h"

namespace tessera {
namespace {

World& alone() {
  static World world;
  return world;
}

}  // namespace

TrainStep::TrainStep(const Experiment& experiment, ModelPtr model, int num_classes, at::Device device)
    : TrainStep(experiment, std::move(model), num_classes, device, alone()) {}

TrainStep::TrainStep(const Experiment& experiment, ModelPtr model, int num_classes, at::Device device, World& world,
                     const StepOptions& options)
    : experiment_(experiment),
      model_(std::move(model)),
      num_classes_(num_classes),
      device_(device),
      world_(world),
      loss_(make_loss(experiment.loss, num_classes, experiment.data.labels.multi)),
      plan_(experiment, *model_, world, options.rank_weights),
      arena_(*model_, device, parameter_type(experiment.train.precision), experiment.train.channels_last),
      freezing_(experiment, *model_, arena_),
      working_(*model_, arena_, experiment.train.precision),
      scaler_(experiment.train.precision, device),
      gradients_(experiment_, *model_, *loss_, plan_, device, world, arena_, working_, scaler_, trace_),
      sam_(experiment.train.sam, gradients_, arena_, working_, scaler_),
      update_(experiment_, *model_, world.gradients, arena_, working_, scaler_, trace_, options.sharded),
      precise_bn_(experiment_, *model_, *loss_, plan_, device, world, trace_) {
  // Blended targets are not for the kernel that holds the classifier.
  model_->use_fused_classifier(loss_->supports_fused_classifier() && experiment.train.mixup.chance() == 0);
}

StepResult TrainStep::run(const Batch& batch, const Progress& at) {
  begin(at);
  const WorkingWeights::Scope working(working_);
  StepInputs inputs = inputs_of(batch, at.step, shrink_of(batch, at));
  sum_label_counts(inputs);  // over the ranks: the loss divides by counts of the global batch
  StepResult result;
  result.loss = sam_.gradient(inputs, at);  // over the ranks; twice in a step of SAM
  const GradientNorm gradient = clip_grad_norm(arena_.grads(), experiment_.optimizer.clip_norm, scaler_.numbers());
  result.grad_norm = gradient.norm;
  result.lr = update_.step(gradient, at);
  return result;
}

void TrainStep::begin(const Progress& at) {
  enter_step(at.step);
  enter_phase(RankPhase::kForward);
  if (freezing_.begin(at)) {
    update_.optimizer().set_spans(arena_.spans());
    gradients_.recorded().forget();  // other kernels from now on
  }
  set_up_backend(experiment_.train, device_, /*fixed_shapes=*/true);
  model_->train();
  update_.begin(at);
}

std::optional<Shrink> TrainStep::shrink_of(const Batch& batch, const Progress& at) const {
  const TrainConfig& train = experiment_.train;
  if (!train.progressive_resizing.enabled()) return std::nullopt;
  return shrink_at(train.progressive_resizing, at, train.seed, batch.images.size(1), batch.images.size(2), model_->min_size());
}

StepInputs TrainStep::inputs_of(const Batch& batch, int64_t step, const std::optional<Shrink>& shrink) const {
  const int label_end = label_limit(num_classes_, experiment_.data.labels.multi);
  return {batch, step, experiment_.train.seed, *model_, label_end, device_, slice().stand_ins, shrink};
}

void TrainStep::measure_statistics(const std::function<Batch()>& next, int64_t batches, const Progress& at,
                                   at::Tensor& buffers) {
  set_up_backend(experiment_.train, device_, /*fixed_shapes=*/true);
  model_->train();
  int64_t step = at.step;  // whose dropout a batch gets
  precise_bn_.measure([&] { return inputs_of(next(), step++); }, batches, micro_batch(), buffers);
}

void TrainStep::sum_label_counts(StepInputs& inputs) {
  inputs.labels = loss_->prepare(inputs.targets);
  const at::Tensor& labels = inputs.targets.labels;
  inputs.labels.batch_pixels = experiment_.train.batch_size * labels.size(1) * labels.size(2);
  world_.gradients.sum(inputs.labels.sums);
}

}  // namespace tessera
