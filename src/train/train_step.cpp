#include "train/train_step.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "core/class_bits.h"
#include "core/error.h"
#include "core/log.h"
#include "core/rank_status.h"
#include "infer/rank_consensus.h"
#include "infer/torch_settings.h"
#include "optim/clip.h"
#include "tensor/error_text.h"
#include "tensor/too_large.h"

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
      precision_(experiment.train.precision),
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
      sam_(experiment.train.sam, arena_, working_, scaler_),
      update_(experiment_, *model_, world.gradients, arena_, working_, scaler_, trace_, options.sharded),
      precise_bn_(experiment_, *model_, *loss_, plan_, device, world, trace_) {
  // Blended targets are not for the kernel that holds the classifier.
  model_->use_fused_classifier(loss_->supports_fused_classifier() && experiment.train.mixup.chance() == 0);
}

StepResult TrainStep::run(const Batch& batch, const Progress& at) {
  begin(at);
  const WorkingWeights::Scope working(working_);
  std::optional<StepInputs> inputs;  // made with the step's first gradient, read by all of them
  StepResult result;
  result.loss = sam_.gradient(at, [&](const GradientUse& use) {
    return gradients_.reduce(loss_and_gradients(batch, at, inputs, use));  // over the ranks
  });
  const GradientNorm gradient = clip();
  gradients_.keep_statistics(gradient.clip_factor);
  result.grad_norm = gradient.norm;
  result.lr = update_.step(gradient, at);
  return result;
}

at::Tensor TrainStep::loss_and_gradients(const Batch& batch, const Progress& at, std::optional<StepInputs>& inputs,
                                         const GradientUse& use) {
  while (true) {
    try {
      if (inputs) {
        max_over_ranks(world_, 0);  // all have the sums of the gradient before, and none is in them any more
      } else {
        inputs = inputs_of(batch, at);
      }
      const at::Tensor loss = gradients_.compute(*inputs, use);
      max_over_ranks(world_, 0);  // all have got here
      return loss;
    } catch (const std::exception&) {
      inputs.reset();  // on all ranks, which make them together
      use_less_memory(at.step);
    }
  }
}

GradientNorm TrainStep::clip() {
  return make_with_kept_memory(
      [&] { return clip_grad_norm(arena_.grads(), experiment_.optimizer.clip_norm, scaler_.numbers()); });
}

void TrainStep::use_less_memory(int64_t step) {
  std::string why, reason;
  try {
    throw;
  } catch (const PeerLost&) {
    if (!world_.wants_to_meet_again()) throw;
  } catch (const std::exception& e) {
    why = why_too_large(e);
    reason = error_text(e);
    if (why.empty()) throw;
  }
  gradients_.give_up();
  if (!world_.alone()) world_.leave();
  release_kept_memory();
  if (!world_.alone()) world_.meet_again();
  // Not twice the same where nothing else could be done: the first time what was kept for later may have been enough.
  const bool smaller = why.empty() || gradients_.shrink() || std::exchange(freed_in_step_, step) != step;
  if (max_over_ranks(world_, smaller ? 0 : 1) == 0) {
    if (!why.empty()) log_warn("{} at step {}: nothing is lost, all ranks do it again", why, step);
    return;
  }
  if (model_->checkpoint_all()) {
    if (world_.is_first()) log_warn("out of memory at step {}: nothing is lost, going on with activation checkpointing", step);
    return;
  }
  fail(
      "{} at step {} with activation checkpointing and {}; set train.norm_group lower (it defines the experiment), or use "
      "smaller crops, a smaller model or train.precision=bf16. {}",
      why.empty() ? "another rank ran out of memory" : why, step,
      plan_.spread()
          ? "batch-norm units spread over the ranks (train.micro_batch lower, or more ranks, make their parts smaller)"
          : fmt::format("the smallest passes ({} samples)", gradients_.micro_batch()),
      reason);
}

StepInputs TrainStep::inputs_of(const Batch& batch, const Progress& at) {
  StepInputs inputs = inputs_without_counts(batch, at.step, shrink_of(batch, at));
  sum_label_counts(inputs);  // over the ranks: the loss divides by counts of the global batch
  return inputs;
}

NonFiniteCause TrainStep::find_nonfinite(const Batch& batch, const Progress& at) {
  begin(at);
  const WorkingWeights::Scope working(working_);
  return NonFiniteSearch(gradients_, *model_, arena_, world_).cause(inputs_of(batch, at));
}

void TrainStep::compute_in_fp32(bool on) {
  if (precision_ == Precision::kFp64) return;
  gradients_.recorded().forget();
  working_.use_copies(!on);
  experiment_.train.precision = on ? Precision::kFp32 : precision_;
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
  gradients_.begin_step();
}

std::optional<Shrink> TrainStep::shrink_of(const Batch& batch, const Progress& at) const {
  const TrainConfig& train = experiment_.train;
  if (!train.progressive_resizing.enabled()) return std::nullopt;
  return shrink_at(train.progressive_resizing, at, train.seed, batch.images.size(1), batch.images.size(2), model_->min_size());
}

StepInputs TrainStep::inputs_without_counts(const Batch& batch, int64_t step, const std::optional<Shrink>& shrink) const {
  const int label_end = label_limit(num_classes_, experiment_.data.labels.multi);
  return {batch, step, experiment_.train.seed, *model_, label_end, device_, slice().stand_ins, shrink};
}

void TrainStep::measure_statistics(const std::function<Batch()>& next, int64_t batches, const Progress& at,
                                   at::Tensor& buffers) {
  set_up_backend(experiment_.train, device_, /*fixed_shapes=*/true);
  model_->train();
  int64_t step = at.step;  // whose dropout a batch gets
  precise_bn_.measure([&] { return inputs_without_counts(next(), step++, /*shrink=*/{}); }, batches, micro_batch(), buffers);
}

void TrainStep::sum_label_counts(StepInputs& inputs) {
  inputs.labels = loss_->prepare(inputs.targets);
  const at::Tensor& labels = inputs.targets.labels;
  inputs.labels.batch_pixels = experiment_.train.batch_size * labels.size(1) * labels.size(2);
  world_.gradients.sum(inputs.labels.sums);
}

}  // namespace tessera
