#include "train/train_step.h"

#include <torch/types.h>

#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "data/normalize.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "tensor/device.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

// Out of memory on a GPU, or from the CPU's allocator, which only says so in words.
bool is_out_of_memory(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr || text.find("not enough memory") != std::string::npos;
}

}  // namespace

TrainStep::TrainStep(const Experiment& experiment, ModelPtr model, int num_classes, at::Device device)
    : experiment_(experiment),
      model_(std::move(model)),
      device_(device),
      arena_(*model_, device, parameter_type(experiment.train.precision), experiment.train.channels_last),
      loss_(make_loss(experiment.loss, num_classes)),
      optimizer_(make_optimizer(experiment.optimizer, arena_.spans(), arena_.params())),
      scaler_(experiment.train.precision),
      unit_(std::min(experiment.train.norm_group, experiment.train.batch_size)),
      micro_batch_(experiment.train.micro_batch > 0 ? std::min(experiment.train.micro_batch, experiment.train.batch_size)
                                                    : experiment.train.batch_size) {
  check_schedule(experiment.schedule);
}

StepResult TrainStep::run(const Batch& batch, int64_t step, int64_t total_steps, int64_t steps_per_epoch) {
  const OptimizerConfig& config = experiment_.optimizer;
  model_->train();
  saved_buffers_ = arena_.buffers().clone();
  StepResult result;
  while (true) {
    try {
      result.loss = forward_backward(batch, step);
      break;
    } catch (const c10::Error& e) {
      if (!is_out_of_memory(e)) throw;
      const at::NoGradGuard no_grad;
      arena_.buffers().copy_(saved_buffers_);
      if (!shrink_micro_batch()) {
        fail(
            "out of memory at step {} with the smallest micro-batch ({} samples, one batch-norm unit); set train.norm_group "
            "lower (it defines the "
            "experiment), or use smaller crops, a smaller model or train.precision=bf16. {}",
            step, micro_batch_, e.what_without_backtrace());
      }
      log_warn("out of memory at step {}: nothing is lost, going on with micro-batches of {}", step, micro_batch_);
    }
  }
  const at::NoGradGuard no_grad;
  if (scaler_.enabled()) arena_.grads().div_(scaler_.scale());
  result.grad_norm = clip_grad_norm(arena_.grads(), config.clip_norm);
  result.lr = lr_at(experiment_.schedule, config.lr, step, total_steps, steps_per_epoch);
  if (scaler_.enabled()) {
    result.skipped = !std::isfinite(result.grad_norm.item<double>());
    scaler_.update(!result.skipped);
  }
  if (!result.skipped)
    optimizer_->step(arena_.params(), arena_.grads(), result.lr, momentum_at(experiment_.schedule, step, total_steps));
  return result;
}

bool TrainStep::shrink_micro_batch() {
  if (cuda_plugin() != nullptr) cuda_plugin()->empty_cache();
  const int64_t units = (micro_batch_ + unit_ - 1) / unit_;
  if (units <= 1) return false;
  micro_batch_ = (units + 1) / 2 * unit_;
  return true;
}

// Valid convolutions predict the centre only: the labels around it have no prediction and count nowhere.
at::Tensor TrainStep::predicted_part(const at::Tensor& labels) const {
  const int64_t height = model_->covered(labels.size(1)), width = model_->covered(labels.size(2));
  return labels.narrow(1, (labels.size(1) - height) / 2, height).narrow(2, (labels.size(2) - width) / 2, width);
}

ModelOutput TrainStep::forward(const at::Tensor& images, float max_value, const std::vector<int64_t>& ids, int64_t step) {
  const at::Tensor x =
      normalize_images(images, max_value, experiment_.data.normalize, parameter_type(experiment_.train.precision));
  const StepContextGuard context({.seed = static_cast<uint64_t>(experiment_.train.seed),
                                  .step = step,
                                  .norm_group = unit_,
                                  .sample_ids = torch::tensor(ids, torch::kLong).to(device_)});
  const AutocastScope autocast(experiment_.train.precision, device_);
  return model_->forward(experiment_.train.channels_last ? x : x.contiguous());
}

at::Tensor TrainStep::forward_backward(const Batch& batch, int64_t step) {
  const at::Tensor images = batch.images.to(device_, /*non_blocking=*/true),
                   all_labels = predicted_part(batch.labels).to(device_, /*non_blocking=*/true);
  arena_.grads().zero_();
  const LossContext labels_context = loss_->prepare(all_labels);
  LossContext context = labels_context, aux_context = labels_context;  // their sums over predictions differ
  const int64_t count = batch.size();
  const auto output_of = [&](int64_t begin) {
    const int64_t size = std::min(micro_batch_, count - begin);
    const std::vector<int64_t> ids(batch.indices.begin() + begin, batch.indices.begin() + begin + size);
    return forward(images.narrow(0, begin, size), batch.max_value, ids, step);
  };
  const auto labels_of = [&](int64_t begin) { return all_labels.narrow(0, begin, std::min(micro_batch_, count - begin)); };
  if (loss_->needs_prediction_sums() && micro_batch_ < count) {
    const at::NoGradGuard no_grad;
    for (int64_t begin = 0; begin < count; begin += micro_batch_) {
      const ModelOutput output = output_of(begin);
      context.add_predictions(loss_->prediction_sums(output.logits, labels_of(begin)));
      if (output.aux.defined()) aux_context.add_predictions(loss_->prediction_sums(output.aux, labels_of(begin)));
    }
    arena_.buffers().copy_(saved_buffers_);  // the statistics of this pass must not count twice
  }
  at::Tensor total;
  for (int64_t begin = 0; begin < count; begin += micro_batch_) {
    const ModelOutput output = output_of(begin);
    at::Tensor loss = loss_->micro_loss(output.logits, labels_of(begin), context).value;
    if (output.aux.defined())
      loss = loss + experiment_.loss.aux_weight * loss_->micro_loss(output.aux, labels_of(begin), aux_context).value;
    (scaler_.enabled() ? loss * scaler_.scale() : loss).backward();
    total = total.defined() ? total + loss.detach() : loss.detach();
  }
  return total;
}

}  // namespace tessera
