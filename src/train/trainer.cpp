#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory_limit.h"
#include "core/plural.h"
#include "core/rank_status.h"
#include "core/signals.h"
#include "infer/checkpoint/model_state.h"
#include "infer/eval_metrics.h"
#include "infer/rank_consensus.h"
#include "optim/ema_schedule.h"
#include "optim/swa_schedule.h"
#include "tensor/error_text.h"
#include "tensor/too_large.h"
#include "train/idle_starts.h"
#include "train/run_folder.h"

namespace tessera {
namespace {

constexpr int64_t kStepsOfMaxSkips = 100;  // that guard.max_skips counts in

// How the log names the end of a run that failed: what decides whether trying again can help.
std::string failed_status(const std::exception& error) {
  if (dynamic_cast<const Diverged*>(&error) != nullptr) return "diverged";
  return why_too_large(error) == "out of memory" ? "out of memory" : "failed";
}

}  // namespace

RunResult Trainer::run(Hooks& hooks) {
  hooks_ = &hooks;
  meter_.emplace(state_.seconds, device_);
  const IdleStarts idle_starts(folder_ / "log.jsonl", state_, world_);
  hooks.on_start(info());
  warn_of_average();
  try {
    if (goes_on_) save();  // the folder is whole from here on, without the run that it came from
    while (!events_->complete(state_)) {
      if (events_->statistics_due(state_)) measure_statistics();  // before the step is saved: Note [Precise batch norm]
      if (stop_asked()) {
        settle_steps(/*all=*/true);
        if (!events_->is_saved(state_)) save();
        if (out_of_time_ || exit_code_of(stop_signal_) == kExitAgain) idle_starts.refuse(state_);
        break;
      }
      if (events_->save_due(state_)) save();  // before it is evaluated: whatever happens there, the steps are safe
      if (events_->evaluation_due(state_)) {
        const ProfiledPart part("evaluation");
        evaluate();
      } else if (!events_->finished(state_)) {
        train_one_step();
      }
    }
    report_bad_samples();
    if (profile_.has_begun()) end_profile();
    if (store_) store_->wait();
    if (!options_.timeline.empty()) step_->trace().write(world_, options_.timeline);
  } catch (const std::exception& e) {
    note_error(error_text(e));
    hooks.tell_failure(state_, error_text(e), failed_status(e));
    throw;
  }
  RunResult ended = result();
  hooks.on_end(state_, ended.status());
  return ended;
}

RunInfo Trainer::info() const {
  return {.experiment = experiment_,
          .folder = folder_,
          .progress = progress(),
          .last_step = events_->length().last,
          .resumed = resumed_,
          .came_from = origin_ ? nlohmann::json(*origin_) : nlohmann::json(),
          .num_parameters = num_parameters_,
          .num_train = train_set_->size(),
          .num_val = val_set_->size(),
          .device = device_.str(),
          .classes = train_set_->classes(),
          .access = run_access(experiment_.run, folder_)};
}

RunResult Trainer::result() {
  const RunEnd end = stop_signal_ != 0                        ? RunEnd::kSignal
                     : out_of_time_                           ? RunEnd::kTimeLimit
                     : !stop_reason_.empty()                  ? RunEnd::kHook
                     : state_.step >= events_->length().total ? RunEnd::kDone
                     : events_->patience_is_over(state_)      ? RunEnd::kStoppedEarly
                                                              : RunEnd::kPaused;
  return {.state = state_,
          .last_eval = std::move(last_eval_),
          .classes = train_set_->classes(),
          .end = end,
          .signal = stop_signal_,
          .stop_reason = stop_reason_};
}

// A signal goes before the end of the time, and that before a hook's wish. All are one number, so that a single maximum tells
// every rank what any of them was asked.
bool Trainer::stop_asked() {
  constexpr int kHookWish = 1, kTimeIsUp = 2;
  const std::string reason = hooks_->wants_stop();
  const bool time_is_up = time_limit_.leaves_no_turn();
  const int own = stop_signal() != 0 ? kTimeIsUp + stop_signal() : time_is_up ? kTimeIsUp : reason.empty() ? 0 : kHookWish;
  const int agreed = max_over_ranks(world_, own);
  if (agreed > kTimeIsUp) stop_signal_ = agreed - kTimeIsUp;
  out_of_time_ = agreed == kTimeIsUp;
  if (agreed == kHookWish) stop_reason_ = reason.empty() ? "another rank" : reason;
  return agreed != 0;
}

void Trainer::warn(const std::string& text) {
  if (!text.empty()) hooks_->on_warning(state_.step, text);
}

void Trainer::warn_of_average() {
  if (experiment_.eval.weights != EvalWeights::kAverage) return;
  const Progress beginning = events_->progress({});
  warn(ema_warning(experiment_.train.ema, events_->evaluates_every(), beginning));
  warn(swa_warning(experiment_.train.swa, beginning));
}

void Trainer::train_one_step() {
  const bool published = events_->is_saved(state_) || state_.evaluated_step == state_.step;
  if (guard_->keep_due(state_) || published) guard_->keep(state_);
  step_->run_each_pass(profile_.records(state_.step));
  const double waited = loader_->seconds_waited();
  enter_phase(RankPhase::kLoading);
  const Batch batch = [&] {
    const ProfiledPart part("data");
    return loader_->next();
  }();
  if (world_.is_first()) warn(first_labels_.look(batch));
  tell_of_few_batches();
  const Progress at = progress();
  const StepResult result = step_->run(batch, at);
  guard_->watch(batch, at, result);
  ++state_.step;
  meter_->add(experiment_.train.batch_size, loader_->seconds_waited() - waited);
  state_.seconds = meter_->seconds();
  const bool log_due = events_->log_due(state_);
  if (log_due || world_.alone()) report_bad_samples();
  if (log_due) {
    log_step(result);
  } else {
    hooks_->on_step(state_.step);
  }
  settle_steps(log_due || events_->any_due(state_) || guard_->keep_due(state_));
  if (profile_.is_complete(state_.step)) end_profile();
}

void Trainer::measure_statistics() {
  enter_phase(RankPhase::kEvaluating);
  Loader loader(*train_set_, train_pipeline_, *train_quarantine_, loader_options({}), state_.step);
  const auto averaged = averaged_weights();
  at::Tensor& buffers = averaged ? step_->average().buffers() : step_->arena().buffers();
  step_->measure_statistics([&] { return loader.next(); }, statistics_batches_, progress(), buffers);
  events_->note_measured(state_);
  meter_->skip();  // it is not training time
}

void Trainer::settle_steps(bool all) {
  std::vector<GuardEvent> spikes;
  while (const auto held = guard_->next_held(all, spikes)) deal_with(*held);
  for (const GuardEvent& spike : spikes) hooks_->on_guard(spike);
}

void Trainer::deal_with(const StepGuard::Held& held) {
  const GuardConfig& config = experiment_.guard;
  GuardEvent event = guard_->find_cause(held);
  // One that was gone back from and then left out is one step.
  if (std::find(state_.lost_steps.begin(), state_.lost_steps.end(), held.at.step) == state_.lost_steps.end())
    state_.lost_steps.push_back(held.at.step);
  std::erase_if(state_.lost_steps, [&](int64_t step) { return step + kStepsOfMaxSkips <= held.at.step; });
  const bool too_many = static_cast<int64_t>(state_.lost_steps.size()) > config.max_skips;
  if (too_many || config.nonfinite == NonFinitePolicy::kStop) {
    event.action = "stopped";
    event.text += too_many ? fmt::format("; more than guard.max_skips={} of {} steps", config.max_skips, kStepsOfMaxSkips) : "";
    hooks_->on_guard(event);
    throw Diverged(fmt::format(
        "{}. The checkpoints in {} are from before and untouched. Lower optimizer.lr, set optimizer.clip_norm, or look at the "
        "data with `tessera data check`",
        event.text, (folder_ / "checkpoints").string()));
  }
  if (guard_->can_go_back(held.at)) {
    const TrainState now = std::exchange(state_, guard_->go_back(held));
    state_.lost_steps = now.lost_steps;
    state_.seconds = now.seconds;
    make_loader();
    event.action = "gone back";
    event.back_to = state_.step;
    event.text += fmt::format("; back to step {}, and up to step {} again in fp32", state_.step, event.step);
  } else {
    guard_->leave_out(held);
    event.action = "left out";
    event.text += "; the batch is left out, everything else is as before it";
  }
  event.steps_lost = static_cast<int64_t>(step_->scaler().read().skipped_steps);
  hooks_->on_guard(event);
}

// The loaders of all ranks are alike.
LoaderLoad Trainer::loader_load(double wait_share) const {
  const int ranks = world_.spec.local_world_size;
  return {.times = loader_->stage_times(),
          .wait_share = wait_share,
          .threads = loader_threads(experiment_.data.threads, ranks),
          .cpus = cpu_budget().share(ranks)};
}

// Once, and not of the first steps, which wait for what is made ahead.
void Trainer::warn_of_waiting(double wait_share) {
  constexpr int64_t kFirstSteps = 20;
  if (warned_of_waiting_ || !world_.is_first() || wait_share < kWaitWorthSaying) return;
  const LoaderLoad load = loader_load(wait_share);
  if (load.times.samples < kFirstSteps * experiment_.train.batch_size / world_.size()) return;
  warned_of_waiting_ = true;
  warn(loader_advice(load));
}

void Trainer::tell_of_few_batches() {
  if (told_of_few_batches_ || !world_.is_first()) return;
  const auto held = loader_->held_by_memory();
  if (!held) return;
  told_of_few_batches_ = true;
  log_info(
      "data.prefetch={}: no more than {} of these batches ({:.3g} MB each) are held ahead: {:.3g} of {:.3g} GB are for them",
      experiment_.data.prefetch, held->batches, 1e-6 * static_cast<double>(held->batch_bytes),
      1e-9 * static_cast<double>(memory_for_reading_ahead(world_.spec.local_world_size)),
      1e-9 * static_cast<double>(memory_limit()));
}

void Trainer::end_profile() {
  const double wait_share = std::min(1.0, loader_->seconds_waited() / std::max(1e-9, meter_->seconds()));
  const std::string text =
      profile_.finish(folder_, run_access(experiment_.run, folder_), state_.step, loader_advice(loader_load(wait_share)));
  log_info("{}trace for Perfetto or TensorBoard: {}", text, (folder_ / "profile" / "trace.json").string());
}

void Trainer::log_step(const StepResult& result) {
  LogLine line{.step = state_.step,
               .epoch = progress().epoch(),
               .loss = result.loss.item<double>(),
               .lr = result.lr,
               .grad_norm = result.grad_norm.item<double>()};
  meter_->fill(line);
  warn_of_waiting(line.data_wait);
  if (const GradientReducer* reducer = step_->reducer()) {
    line.exchange_ms = 1e3 * reducer->exchanging();
    line.exchange_wait_ms = 1e3 * reducer->waited();
  }
  line.skipped_steps = static_cast<int64_t>(step_->scaler().read().skipped_steps);
  hooks_->on_log(line);
  if (line.loss == 0 && line.grad_norm == 0 && !std::exchange(warned_of_nothing_, true) && world_.is_first())
    log_warn(
        "nothing is learned: loss and gradient are exactly 0 at step {}. Is any pixel labelled (`tessera data check`), and is "
        "there more than one class?",
        state_.step);
}

// A collective: a sample that is bad on one rank is known to all, so that all count it against data.max_bad_share.
void Trainer::report_bad_samples() {
  for (Quarantine* quarantine : {train_quarantine_.get(), &evaluator_->quarantine()}) {
    const std::vector<BadSampleRecord> all = all_bad_samples(world_, quarantine->take_new());
    if (!world_.alone()) {
      for (const BadSampleRecord& record : all) quarantine->add(record);
      quarantine->take_new();
    }
    for (const BadSampleRecord& record : all) hooks_->on_bad_sample(record);
  }
}

std::unique_ptr<WeightAverage::Scope> Trainer::averaged_weights() {
  const bool wanted = experiment_.eval.weights == EvalWeights::kAverage && step_->average().begun();
  return wanted ? step_->average().use() : nullptr;
}

void Trainer::evaluate() {
  enter_phase(RankPhase::kEvaluating);
  last_eval_.reset();
  try {
    const auto averaged = averaged_weights();
    last_eval_ = merged(world_, evaluator_->run(*predictor_), train_set_->classes().size());
    last_eval_->averaged = averaged != nullptr;
  } catch (const PredictionStopped&) {  // by a signal, which the loop sees next
    if (world_.is_first()) log_info("the evaluation at step {} is cut short to stop; --resume does it again", state_.step);
    return;
  } catch (const EvaluationFailed& e) {
    if (!events_->is_saved(state_)) save();
    // A run whose steps are all done and saved is not failed by what comes after them.
    if (state_.step < events_->length().total) throw;
    events_->note_evaluated(state_);
    return warn(fmt::format(
        "all steps are done and saved, but their evaluation failed: {}. Set eval.* or data.val.* otherwise and add --resume, "
        "which evaluates them, or use `tessera eval`",
        e.what()));
  }
  events_->note_evaluated(state_);
  report_bad_samples();
  if (last_eval_->num_images > 0 && last_eval_->images.empty() && world_.is_first())
    log_warn("not one labelled pixel in {} {}: no metric can be computed; `tessera data check` says what is in the masks",
             last_eval_->num_images, plural(last_eval_->num_images, "validation image"));
  const std::string& metric = experiment_.checkpoint.best_metric;
  const double value = metric_value(metric, train_set_->classes(), *last_eval_);
  if (world_.is_first() && !std::exchange(warned_of_classes_, true)) {
    warn(unmeasured_classes(last_eval_->report, train_set_->classes()));
    if (std::isnan(value) && !last_eval_->images.empty())
      warn(fmt::format("checkpoint.best_metric={} cannot be measured on these images: no checkpoint is the best", metric));
  }
  const bool counts = events_->evaluation_counts(state_);  // else it is made because of stop_at: see Note [Stop at a step]
  if (counts) state_.note_metric(value);
  hooks_->on_eval(state_, progress().epoch(), *last_eval_);
  if (counts) keep_evaluated();
  meter_->skip();  // evaluation is not training time
}

// What an evaluation found goes to the checkpoint of its step, or makes one where the step is the best so far or the last.
void Trainer::keep_evaluated() {
  bool lost = false;
  if (events_->is_saved(state_) && store_) {
    try {
      store_->note_evaluated(state_);
    } catch (const Error& e) {
      // It was not saved after all, or somebody removed it.
      warn(e.what());
      lost = true;
    }
  }
  if (max_over_ranks(world_, lost ? 1 : 0) != 0 || events_->save_due(state_)) save();
}

void Trainer::save() {
  const TimeLimit::Save timed(time_limit_);
  const ProfiledPart part("checkpoint");
  enter_phase(RankPhase::kSaving);
  Arena& arena = step_->arena();
  const auto is_finite = [&] { return (arena.params().sum() + arena.buffers().sum()).isfinite().item<bool>(); };
  if (!make_with_kept_memory(is_finite)) {
    throw Diverged(
        fmt::format("the weights or their running statistics are no longer finite at step {}, so they are not saved; the "
                    "checkpoints in {} are from before. Lower optimizer.lr or set optimizer.clip_norm",
                    state_.step, (folder_ / "checkpoints").string()));
  }
  const LossScaling scaling = step_->scaler().read();
  if (step_->scaler().enabled()) {
    state_.loss_scale = scaling.scale;
    state_.loss_scale_good_steps = static_cast<int64_t>(scaling.good_steps);
  }
  state_.optimizer_steps = static_cast<int64_t>(scaling.applied_steps);
  state_.skipped_steps = static_cast<int64_t>(scaling.skipped_steps);
  const NamedTensors optimizer = step_->optimizer().state(), average = step_->average().state();  // collectives
  if (store_) {
    const NamedTensors model = make_with_kept_memory([&] { return model_state(*model_); });
    const Checkpoint checkpoint{model,    optimizer, average, state_, train_set_->classes(), experiment_yaml(experiment_),
                                samples_, images_};
    try {
      make_with_kept_memory([&] { store_->save(checkpoint); });
    } catch (const Error& e) {
      // The save before this one failed in the background (a full disk, say). What is on the disk is whole; training goes on.
      warn(e.what());
      store_->save(checkpoint);
    }
  }
  events_->note_saved(state_);
  hooks_->on_checkpoint(state_);
}

}  // namespace tessera
