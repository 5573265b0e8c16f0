#include "train/train_step.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "core/rank_status.h"
#include "infer/too_large.h"
#include "infer/torch_settings.h"
#include "nn/blocks/batch_norm.h"
#include "optim/schedule.h"
#include "tensor/device.h"
#include "tensor/error_text.h"

namespace tessera {
namespace {

bool has_batch_norm(const SegmentationModel& model) {
  const auto modules = model.modules(/*include_self=*/false);
  return std::any_of(modules.begin(), modules.end(),
                     [](const auto& module) { return dynamic_cast<const BatchNorm2dImpl*>(module.get()) != nullptr; });
}

class RankNormExchange : public NormExchange {
 public:
  explicit RankNormExchange(Communicator& communicator) : communicator_(communicator) {}
  void sum(at::Tensor& statistics) override { communicator_.sum(statistics); }

 private:
  Communicator& communicator_;
};

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
      arena_(*model_, device, parameter_type(experiment.train.precision), experiment.train.channels_last),
      working_(*model_, arena_, experiment.train.precision),
      loss_(make_loss(experiment.loss, num_classes)),
      lr_(lr_range(experiment.optimizer, experiment.schedule, experiment.train.batch_size)),
      optimizer_(experiment.optimizer, lr_, arena_.spans(), arena_.params(), world.gradients, options.sharded),
      average_(experiment.train.ema, *model_, arena_, optimizer_),
      scaler_(experiment.train.precision, device),
      unit_(has_batch_norm(*model_) ? std::min(experiment.train.norm_group, experiment.train.batch_size) : 1),
      rank_weights_(options.rank_weights.empty() ? std::vector<double>(static_cast<size_t>(world.size()), 1.0)
                                                 : options.rank_weights),
      micro_batch_(experiment.train.micro_batch),
      recorded_(arena_.params().device(),
                experiment.train.cuda_graph && device.is_cuda() && world.alone() ? cuda_plugin()->record : nullptr) {
  check_schedule(experiment.schedule);
  // Blended targets are not for the kernel that holds the classifier.
  model_->use_fused_classifier(loss_->supports_fused_classifier() && experiment.train.mixup.chance() == 0);
  share_ = share_of(world.rank());
  synced_ = std::any_of(share_.rounds.begin(), share_.rounds.end(), [](const Round& round) { return round.rows > 0; });
  if (world.alone()) return;
  norm_exchange_ = std::make_unique<RankNormExchange>(world.norms);
  running_stats_ = std::make_unique<RunningStats>(*model_, arena_.buffers(), world.gradients);
  reducer_ = std::make_unique<GradientReducer>(world.gradients, arena_.places(), arena_.grads(), experiment.dist);
  reducer_->before_send([this](int64_t begin, int64_t end) { working_.collect(begin, end, /*add=*/!first_pass_); });
}

RankShare TrainStep::share_of(int rank) const {
  const BatchPlanOptions options{experiment_.train.batch_size, unit_, experiment_.train.micro_batch, rank_weights_};
  if (world_.alone() || experiment_.dist.norm_scope == NormScope::kUnit) return plan_share(options, rank);
  const bool by_node = experiment_.dist.norm_scope == NormScope::kNode;
  return plan_share_by_group(options, by_node ? world_.spec.local_world_size : 1, rank);
}

StepResult TrainStep::run(const Batch& batch, int64_t step, int64_t total_steps, int64_t steps_per_epoch) {
  enter_step(step);
  set_up_backend(experiment_.train, device_, /*fixed_shapes=*/true);
  model_->train();
  saved_buffers_ = arena_.buffers().clone();
  const EmaStep ema = ema_at(experiment_.train.ema, step, total_steps, steps_per_epoch);
  if (ema.runs && !average_.begun()) average_.begin();
  StepResult result;
  result.loss = forward_backward(batch, step);
  const StepTrace::Span span(trace_, "optimizer");
  enter_phase(RankPhase::kOptimizer);
  const at::NoGradGuard no_grad;
  const GradientNorm gradient = clip_grad_norm(arena_.grads(), experiment_.optimizer.clip_norm, scaler_.numbers());
  result.grad_norm = gradient.norm;
  const LrShares lr = lr_shares_at(experiment_.schedule, step, total_steps, steps_per_epoch);
  result.lr = lr_.at(lr);
  update(gradient, lr, momentum_at(experiment_.schedule, step, total_steps), ema.share);
  return result;
}

void TrainStep::update(const GradientNorm& gradient, const LrShares& lr, std::optional<double> momentum, double average_share) {
  StepExtras extras{.scale = {gradient.factor, scaler_.numbers()}};
  if (average_share > 0) {
    extras.average = average_.params();
    extras.average_share = average_share;
  }
  if (!optimizer_.sharded()) extras.copies = working_.copies();  // else other ranks' weights come after the step
  optimizer_.step(arena_.params(), arena_.grads(), lr, momentum, extras);
  if (extras.copies.defined()) working_.copies_written();
  if (average_share > 0) average_.follow_buffers(average_share);
}

at::Tensor TrainStep::forward_backward(const Batch& batch, int64_t step) {
  enter_phase(RankPhase::kForward);
  const WorkingWeights::Scope working(working_);
  StepInputs inputs(batch, sample_keys(experiment_.train.seed, step, batch.draws), *model_, num_classes_, device_,
                    share_.stand_ins);
  inputs.context = loss_->prepare(inputs.targets);
  const at::Tensor& labels = inputs.targets.labels;
  inputs.context.batch_pixels = experiment_.train.batch_size * labels.size(1) * labels.size(2);
  world_.gradients.sum(inputs.context.sums);
  inputs.aux_context = inputs.context;
  if (running_stats_) running_stats_->begin(share_.units);
  const bool needs_sums = loss_->needs_prediction_sums();
  if (needs_sums && !world_.alone()) {
    with_retries(step, [&] { add_prediction_sums(inputs); });
    for (LossContext* context : {&inputs.context, &inputs.aux_context}) {
      if (context->prediction_sums.defined()) world_.gradients.sum(context->prediction_sums);
    }
  }
  at::Tensor total;
  with_retries(step, [&] {
    inputs.pixels.reset();  // of a try before
    if (needs_sums && world_.alone() && !one_pass_everywhere()) add_prediction_sums(inputs);
    total = run_passes(inputs);
  });
  if (reducer_) {
    const double begin = StepTrace::now();
    reducer_->finish();
    trace_.add("wait", "wait", begin, StepTrace::now());
    for (const BucketTimes& bucket : reducer_->times()) {
      if (bucket.done > 0) trace_.add("reduce", "reduce", bucket.sent, bucket.done);
    }
    running_stats_->finish();
  }
  return total;
}

// Runs `body` again, in smaller passes and from the state before, when memory runs out. A pass over spread units cannot be
// repeated by one rank alone: the others are in it too.
void TrainStep::with_retries(int64_t step, const std::function<void()>& body) {
  while (true) {
    try {
      return body();
    } catch (const std::exception& e) {
      const std::string why = why_too_large(e);
      if (why.empty()) throw;
      const at::NoGradGuard no_grad;
      if (reducer_ && !synced_) reducer_->interrupt();
      arena_.buffers().copy_(saved_buffers_);
      if (running_stats_) running_stats_->begin(share_.units);
      if (synced_ || !shrink_micro_batch()) {
        fail(
            "{} at step {} with {}; set {}train.norm_group lower (it defines the experiment), or use smaller crops, "
            "a smaller model or train.precision=bf16. {}",
            why, step,
            synced_ ? "batch-norm units spread over the ranks"
                    : fmt::format("the smallest micro-batch ({} samples, one batch-norm unit)", micro_batch_),
            synced_ ? "train.micro_batch, so that less is computed at a time, use more ranks, set " : "", error_text(e));
      }
      log_warn("{} at step {}: nothing is lost, going on with micro-batches of {}", why, step, micro_batch_);
    }
  }
}

bool TrainStep::shrink_micro_batch() {
  recorded_.forget();
  release_kept_memory();
  const std::vector<Pass> passes = share_.passes(micro_batch_);
  int64_t largest = 0;
  for (const Pass& pass : passes) largest = std::max(largest, pass.end - pass.begin);
  const int64_t units = (largest + unit_ - 1) / unit_;
  micro_batch_ = (units + 1) / 2 * unit_;
  return share_.passes(micro_batch_).size() > passes.size();  // else what is left must stay together
}

ModelOutput TrainStep::forward(const StepInputs& inputs, const Pass& pass, bool counts_statistics) {
  const StepTrace::Span span(trace_, "forward");
  enter_phase(RankPhase::kForward);
  const at::Tensor x = inputs.pixels.defined() ? inputs.pixels : pixels_of(inputs, pass);
  const StepContextGuard context({.sample_keys = inputs.sample_keys.narrow(0, pass.begin, pass.end - pass.begin),
                                  .segments = pass.segments,
                                  .norm_rows = pass.rows,
                                  .exchange = norm_exchange_.get(),
                                  .running_statistics = counts_statistics ? running_stats_.get() : nullptr});
  const AutocastScope autocast(experiment_.train.precision, device_);
  return model_->forward(x);
}

at::Tensor TrainStep::pixels_of(const StepInputs& inputs, const Pass& pass) const {
  const at::Tensor x =
      inputs.batch.input(pass.begin, pass.end, experiment_.data.normalize, input_type(experiment_.train.precision));
  return experiment_.train.channels_last ? x : x.contiguous();
}

// With one pass on every rank its logits serve the loss too; else this is a pass of its own, whose statistics must not
// count.
void TrainStep::add_prediction_sums(StepInputs& inputs) {
  const std::vector<Pass> passes = share_.passes(micro_batch_);
  inputs.context.prediction_sums.reset();
  inputs.aux_context.prediction_sums.reset();
  inputs.first.reset();
  const bool once = one_pass_everywhere();
  const auto add = [&](const ModelOutput& output, const Pass& pass) {
    inputs.context.add_predictions(loss_->prediction_sums(output.logits(), inputs.targets_of(pass)));
    if (output.aux.defined()) inputs.aux_context.add_predictions(loss_->prediction_sums(output.aux, inputs.targets_of(pass)));
  };
  if (once) {
    inputs.first = forward(inputs, passes[0], true);
    return add(*inputs.first, passes[0]);
  }
  const at::NoGradGuard no_grad;
  for (const Pass& pass : passes) add(forward(inputs, pass, false), pass);
  arena_.buffers().copy_(saved_buffers_);
}

// Spread units make forward passes collective, so all ranks must take the same number of them.
bool TrainStep::one_pass_everywhere() const {
  const int ranks = synced_ ? world_.size() : 1;
  for (int rank = 0; rank < ranks; ++rank) {
    if ((synced_ ? share_of(rank) : share_).passes(micro_batch_).size() != 1) return false;
  }
  return true;
}

at::Tensor TrainStep::run_passes(StepInputs& inputs) {
  const std::vector<Pass> passes = share_.passes(micro_batch_);
  if (passes.size() == 1 && !reducer_) {
    inputs.pixels = pixels_of(inputs, passes[0]);
    const auto only_pass = [&] {
      working_.forget();  // also what a recording left behind that failed
      const at::Tensor loss = forward_loss(inputs, passes[0]);
      backward(loss);
      working_.collect_only_pass();
      return loss.detach();
    };
    return trace_.is_on() ? only_pass() : recorded_.run(inputs.read(), only_pass);
  }
  working_.forget();
  arena_.grads().zero_();  // for parameters that a loss does not reach
  at::Tensor total = at::zeros({}, at::TensorOptions(device_).dtype(at::kDouble));
  for (size_t i = 0; i < passes.size(); ++i) {
    const at::Tensor loss = forward_loss(inputs, passes[i]);
    first_pass_ = i == 0;
    if (reducer_ && i + 1 == passes.size()) reducer_->arm();
    backward(loss);
    working_.collect(/*add=*/!first_pass_);
    total = total + loss.detach();
  }
  return total;
}

at::Tensor TrainStep::forward_loss(StepInputs& inputs, const Pass& pass) {
  const ModelOutput output = inputs.first ? *std::exchange(inputs.first, std::nullopt) : forward(inputs, pass, true);
  const Targets targets = inputs.targets_of(pass);
  const at::Tensor loss = loss_->micro_loss(output.scores, targets, inputs.context).value;
  if (!output.aux.defined()) return loss;
  return loss + aux_weight_of(experiment_) * loss_->micro_loss(output.aux, targets, inputs.aux_context).value;
}

void TrainStep::backward(const at::Tensor& loss) {
  const StepTrace::Span span(trace_, "backward");
  enter_phase(RankPhase::kBackward);
  scaler_.scaled(loss).backward();
}

}  // namespace tessera
