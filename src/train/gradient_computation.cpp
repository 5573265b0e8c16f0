#include "train/gradient_computation.h"

#include <torch/types.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "core/rank_status.h"
#include "tensor/too_large.h"
#include "train/rank_norm_exchange.h"

namespace tessera {
namespace {

RecordedPass::Record recorder_of(const TrainConfig& config, at::Device device, const World& world) {
  return config.cuda_graph && device.is_cuda() && world.alone() ? cuda_plugin()->record : nullptr;
}

}  // namespace

GradientComputation::GradientComputation(const Experiment& experiment, SegmentationModel& model, const Loss& loss,
                                         const RankPlan& plan, at::Device device, World& world, Arena& arena,
                                         WorkingWeights& working, LossScaler& scaler, StepTrace& trace)
    : world_(world),
      loss_(loss),
      plan_(plan),
      device_(device),
      arena_(arena),
      working_(working),
      scaler_(scaler),
      trace_(trace),
      norm_exchange_(world.alone() ? nullptr : std::make_unique<RankNormExchange>(world.norms)),
      running_stats_(world.alone() ? nullptr : std::make_unique<RunningStats>(model, arena.buffers(), world.gradients)),
      reducer_(world.alone()
                   ? nullptr
                   : std::make_unique<GradientReducer>(world.gradients, arena.places(), arena.grads(), experiment.dist)),
      forward_(experiment, model, loss, device, norm_exchange_.get(), running_stats_.get(), trace),
      recorded_(arena.params().device(), recorder_of(experiment.train, device, world)),
      pass_size_(experiment.train.micro_batch, plan.unit()) {
  if (reducer_)
    reducer_->before_send([this](int64_t begin, int64_t end) { working_.collect(begin, end, /*add=*/!first_pass_); });
}

at::Tensor GradientComputation::compute(const StepInputs& inputs, const GradientUse& use) {
  use_ = use;
  saved_buffers_.reset();
  if (use.begins_step) step_buffers_.reset();
  saved_buffers_ = arena_.buffers().clone();
  if (use.begins_step) step_buffers_ = saved_buffers_;
  if (running_stats_) running_stats_->begin(plan_.own().units);
  const bool needs_sums = loss_.needs_prediction_sums();
  LossContexts contexts(inputs.labels);
  std::optional<ModelOutput> first_output;
  if (needs_sums && !world_.alone()) {
    with_retries(inputs.step, [&] { contexts = with_prediction_sums(inputs, &first_output); });
    contexts.sum_predictions(world_.gradients);
  }
  at::Tensor total;
  with_retries(inputs.step, [&] {
    if (needs_sums && world_.alone() && !plan_.one_pass_everywhere(micro_batch()))
      contexts = with_prediction_sums(inputs, nullptr);
    total = run_passes(inputs, contexts, std::exchange(first_output, std::nullopt));
  });
  if (reducer_ && use_.exchanges) reducer_->send_rest();
  pass_size_.fitted();
  return total;
}

void GradientComputation::give_up() {
  const at::NoGradGuard no_grad;
  recorded_.forget();
  working_.forget();
  if (reducer_) reducer_->give_up();
  if (saved_buffers_.defined()) arena_.buffers().copy_(saved_buffers_);
}

at::Tensor GradientComputation::reduce(const at::Tensor& loss) {
  const at::Tensor total = reducer_ ? sum_over_ranks(loss) : loss;
  const at::NoGradGuard no_grad;
  if (!use_.begins_step) arena_.buffers().copy_(saved_buffers_);
  saved_buffers_.reset();  // from here on there is nothing to give up
  return total;
}

at::Tensor GradientComputation::sum_over_ranks(const at::Tensor& loss) {
  const ProfiledPart part("reduce");
  if (use_.exchanges) {
    const double begin = StepTrace::now();
    reducer_->finish();
    trace_.add("wait", "wait", begin, StepTrace::now());
    for (const BucketTimes& bucket : reducer_->times()) {
      if (bucket.done > 0) trace_.add("reduce", "reduce", bucket.sent, bucket.done);
    }
  }
  running_stats_->sum(loss);
  return make_with_kept_memory([&] {
    const at::NoGradGuard no_grad;
    arena_.buffers().copy_(saved_buffers_);
    return running_stats_->apply();
  });
}

void GradientComputation::keep_statistics(const at::Tensor& clip_factor) {
  const at::NoGradGuard no_grad;
  at::Tensor& buffers = arena_.buffers();
  if (buffers.numel() == 0) return;
  make_with_kept_memory([&] { return at::where_out(buffers, clip_factor.isfinite(), buffers, step_buffers_); });
}

void GradientComputation::repeat_forward(const StepInputs& inputs, const AroundPass& around) {
  const at::NoGradGuard no_grad;
  saved_buffers_ = arena_.buffers().clone();
  const LossContexts contexts(inputs.labels);
  for (const Pass& pass : plan_.own().passes(micro_batch())) {
    const PassInputs some = forward_.inputs(inputs, pass, contexts);
    around(pass, some.pixels, [&] { forward_.output(some, pass, /*keeps_statistics=*/false); });
  }
  arena_.buffers().copy_(saved_buffers_);
}

// With one pass on every rank its output serves the loss too and is kept; else these are passes of their own, whose statistics
// must not count.
LossContexts GradientComputation::with_prediction_sums(const StepInputs& inputs, std::optional<ModelOutput>* only_output) {
  LossContexts contexts(inputs.labels);
  const std::vector<Pass> passes = plan_.own().passes(micro_batch());
  if (plan_.one_pass_everywhere(micro_batch())) {
    const PassInputs all = forward_.inputs(inputs, passes[0], contexts);
    *only_output = forward_.output(all, passes[0], /*keeps_statistics=*/true);
    contexts.add_predictions(loss_, **only_output, all.targets);
    return contexts;
  }
  const at::NoGradGuard no_grad;
  for (const Pass& pass : passes) {
    const PassInputs some = forward_.inputs(inputs, pass, contexts);
    contexts.add_predictions(loss_, forward_.output(some, pass, /*keeps_statistics=*/false), some.targets);
  }
  arena_.buffers().copy_(saved_buffers_);
  return contexts;
}

at::Tensor GradientComputation::run_passes(const StepInputs& inputs, const LossContexts& contexts,
                                           std::optional<ModelOutput> first_output) {
  const std::vector<Pass> passes = plan_.own().passes(micro_batch());
  if (passes.size() == 1 && !reducer_) return run_only_pass(inputs, passes[0], contexts);
  working_.forget();
  arena_.grads().zero_();  // for parameters that a loss does not reach
  at::Tensor total = at::zeros({}, at::TensorOptions(device_).dtype(at::kDouble));
  for (size_t i = 0; i < passes.size(); ++i) {
    const PassInputs some = forward_.inputs(inputs, passes[i], contexts, /*with_pixels=*/!first_output);
    const ModelOutput output =
        first_output ? *std::exchange(first_output, std::nullopt) : forward_.output(some, passes[i], /*keeps_statistics=*/true);
    const at::Tensor loss = forward_.loss(output, some);
    first_pass_ = i == 0;
    if (reducer_ && use_.exchanges && i + 1 == passes.size()) reducer_->arm();
    backward(loss);
    working_.collect(/*add=*/!first_pass_);
    total = total + loss.detach();
  }
  return total;
}

// The only pass of a step on a GPU is recorded and from then on replayed.
at::Tensor GradientComputation::run_only_pass(const StepInputs& inputs, const Pass& pass, const LossContexts& contexts) {
  PassInputs all = forward_.inputs(inputs, pass, contexts);
  const auto body = [&] {
    working_.forget();  // also what a recording left behind that failed
    const at::Tensor loss = forward_.loss(forward_.output(all, pass, /*keeps_statistics=*/true), all);
    backward(loss);
    working_.collect_only_pass();
    return loss.detach();
  };
  return trace_.is_on() || runs_each_pass_ ? body() : recorded_.run(all.tensors(), body);
}

void GradientComputation::backward(const at::Tensor& loss) {
  const StepTrace::Span span(trace_, "backward");
  enter_phase(RankPhase::kBackward);
  // Where the loss is not finite no gradient is, whatever its own backward would make of it: one norm tells of both.
  const at::Tensor scaled = scaler_.scaled(loss);
  scaled.backward(scaled.detach() * 0 + 1);
}

// Runs `body` again, in smaller passes and from the state before, when memory runs out. A pass over spread units cannot be
// repeated by one rank alone: the others are in it too. What cannot be made smaller is for TrainStep: Note [Out of memory].
void GradientComputation::with_retries(int64_t step, const std::function<void()>& body) {
  while (true) {
    try {
      return body();
    } catch (const std::exception& e) {
      const std::string why = why_too_large(e);
      if (why.empty() || plan_.spread()) throw;
      const at::NoGradGuard no_grad;
      if (reducer_) reducer_->interrupt();
      arena_.buffers().copy_(saved_buffers_);
      if (running_stats_) running_stats_->begin(plan_.own().units);
      if (!shrink()) throw;
      log_warn("{} at step {}: nothing is lost, going on with micro-batches of {}", why, step, micro_batch());
    }
  }
}

bool GradientComputation::shrink() {
  recorded_.forget();
  release_kept_memory();
  if (plan_.spread()) return false;  // the others are in these passes too
  int64_t largest = 0;
  for (const Pass& pass : plan_.own().passes(micro_batch())) largest = std::max(largest, pass.end - pass.begin);
  return pass_size_.shrink(largest);
}

}  // namespace tessera
