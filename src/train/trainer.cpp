#include "train/trainer.h"

#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "core/error.h"
#include "core/log.h"
#include "core/signals.h"
#include "core/suggest.h"
#include "data/datasets/dataset_factory.h"
#include "data/transforms/make_pipeline.h"
#include "tensor/device.h"
#include "train/model_state.h"
#include "train/pretrained.h"
#include "train/resume_check.h"

namespace tessera {
namespace {

int threads_or_cores(int64_t asked) {
  return asked > 0 ? static_cast<int>(asked) : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// A run's `every: 0ep` means never; anything else happens at least every step.
int64_t interval(const Duration& every, int64_t steps_per_epoch, int64_t total) {
  return every.value == 0 ? 0 : std::max<int64_t>(1, every.steps(steps_per_epoch, total));
}

void check_metric_name(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& entry : named_values(IouReport{})) known.push_back(entry.first);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    fail_usage("checkpoint.best_metric is '{}'{}; known: {}", name, did_you_mean(name, known), fmt::join(known, ", "));
  }
}

}  // namespace

Trainer::Trainer(const Experiment& experiment, const TrainerOptions& options)
    : experiment_(experiment), folder_(options.folder), device_(pick_device(experiment.train.device)) {
  const TrainConfig& train = experiment_.train;
  if (train.precision == Precision::kFp16 && !device_.is_cuda())
    fail_usage("train.precision=fp16 needs a GPU; on the CPU use bf16 or fp32");
  check_metric_name(experiment_.checkpoint.best_metric);
  if (train.threads > 0) at::set_num_threads(static_cast<int>(train.threads));

  train_set_ = make_dataset(experiment_.data, Split::kTrain);
  val_set_ = make_dataset(experiment_.data, Split::kVal);
  const int num_classes = train_set_->classes().size();
  TSR_CHECK(train_set_->size() > 0, "the training set is empty; look at data.path and data.train");
  TSR_CHECK(experiment_.model.num_classes == 0 || experiment_.model.num_classes == num_classes,
            "model.num_classes is {}, but the data has {} classes; leave it at 0 to follow the data",
            experiment_.model.num_classes, num_classes);
  TSR_CHECK(val_set_->size() == 0 || val_set_->classes().names == train_set_->classes().names,
            "training and validation data have different classes ({} and {}); they must be labelled alike", num_classes,
            val_set_->classes().size());
  train_pipeline_ = make_pipeline(experiment_.data, Split::kTrain);
  val_pipeline_ = make_pipeline(experiment_.data, Split::kVal);
  train_quarantine_ = std::make_unique<Quarantine>(train_set_->size(), experiment_.data.max_bad_share);
  val_quarantine_ = std::make_unique<Quarantine>(val_set_->size(), experiment_.data.max_bad_share);

  model_ = make_model(experiment_.model, {experiment_.data.channels, logit_channels(experiment_.loss, num_classes)},
                      static_cast<uint64_t>(train.seed));
  num_parameters_ = count_parameters(*model_);
  if (!experiment_.model.pretrained.empty()) {
    log_info("{}", load_pretrained(*model_, experiment_.model.pretrained, experiment_.model.allow_missing).table());
  }
  step_ = std::make_unique<TrainStep>(experiment_, model_, num_classes, device_);
  predictor_ = std::make_unique<Predictor>(experiment_, model_, device_);
  const int loader_threads = threads_or_cores(experiment_.data.threads);
  evaluator_ = std::make_unique<Evaluator>(experiment_, *val_set_, val_pipeline_, *val_quarantine_, loader_threads);

  store_ = std::make_unique<CheckpointStore>(folder_ / "checkpoints", experiment_.checkpoint);
  int64_t bytes = static_cast<int64_t>(step_->arena().params().nbytes() + step_->arena().buffers().nbytes());
  for (const auto& entry : step_->optimizer().state()) bytes += static_cast<int64_t>(entry.second.nbytes());
  store_->check_room(bytes);
  if (options.resume) load_state();

  const int64_t batches = (train_set_->size() + train.batch_size - 1) / train.batch_size;
  steps_per_epoch_ = batches;
  total_steps_ = std::max<int64_t>(1, train.duration.steps(steps_per_epoch_, 0));
  log_every_ = std::max<int64_t>(1, interval(experiment_.run.log_every, steps_per_epoch_, total_steps_));
  loader_ = std::make_unique<Loader>(*train_set_, train_pipeline_, *train_quarantine_,
                                     LoaderOptions{.batch_size = train.batch_size,
                                                   .seed = static_cast<uint64_t>(train.seed),
                                                   .threads = loader_threads,
                                                   .prefetch = static_cast<int>(experiment_.data.prefetch),
                                                   .pin_memory = device_.is_cuda()},
                                     state_.step);
}

Trainer::~Trainer() = default;

void Trainer::load_state() {
  const auto checkpoint = store_->load_latest();
  if (!checkpoint) {
    log_info("nothing to resume in {}: starting from the beginning", folder_.string());
    return;
  }
  check_same_experiment(checkpoint->config_yaml, experiment_);
  load_model_state(*model_, checkpoint->model);
  load_optimizer_state(step_->optimizer(), checkpoint->optimizer);
  state_ = checkpoint->state;
  step_->optimizer().set_step_count(state_.optimizer_steps);
  step_->scaler().restore(state_.loss_scale, state_.loss_scale_good_steps);
  saved_step_ = state_.step;
  resumed_ = true;
}

RunResult Trainer::run() {
  meter_.emplace(state_.seconds, device_);
  const RunInfo info{experiment_,      folder_,          state_.step,          resumed_,
                     total_steps_,     steps_per_epoch_, num_parameters_,      train_set_->size(),
                     val_set_->size(), device_.str(),    train_set_->classes()};
  for (auto& hook : hooks_) hook->on_start(info);
  RunResult result;
  std::string status;
  try {
    while (true) {
      if (stop_signal() != 0) {
        if (saved_step_ != state_.step) save();
        break;
      }
      if (evaluation_due()) evaluate();
      if (save_due()) save();
      if (finished()) break;
      train_one_step();
    }
    store_->wait();
    result.signal = stop_signal();
    status = result.signal != 0 ? "stopped" : state_.step < total_steps_ ? "stopped early" : "done";
  } catch (const std::exception& e) {
    tell_failure(e.what());
    throw;
  }
  for (auto& hook : hooks_) hook->on_end(state_, status);
  result.state = state_;
  result.classes = train_set_->classes();
  result.last_eval = std::move(last_eval_);
  return result;
}

void Trainer::tell_failure(const std::string& reason) {
  for (auto& hook : hooks_) {
    try {
      hook->on_warning(state_.step, reason);
      hook->on_end(state_, "failed");
    } catch (const std::exception& e) {
      // A full disk makes the log fail too; the first reason is the one to report.
      log_warn("{}", e.what());
    }
  }
}

void Trainer::train_one_step() {
  const double waited = loader_->seconds_waited();
  const Batch batch = loader_->next();
  const StepResult result = step_->run(batch, state_.step, total_steps_, steps_per_epoch_);
  ++state_.step;
  meter_->add(batch.size(), loader_->seconds_waited() - waited);
  state_.seconds = meter_->seconds();
  report_bad_samples();
  if (state_.step % log_every_ == 0 || state_.step == total_steps_ || state_.step == 1) {
    log_step(result);
  } else {
    for (auto& hook : hooks_) hook->on_step(state_.step);
  }
}

void Trainer::log_step(const StepResult& result) {
  LogLine line{.step = state_.step,
               .epoch = epoch(),
               .loss = result.loss.item<double>(),
               .lr = result.lr,
               .grad_norm = result.grad_norm.item<double>()};
  meter_->fill(line);
  for (auto& hook : hooks_) hook->on_log(line);
  TSR_CHECK(std::isfinite(line.loss),
            "the loss is {} at step {}; the checkpoints in {} are from before and untouched. Lower optimizer.lr, set "
            "optimizer.clip_norm, or look at the data with `tessera data check`",
            line.loss, state_.step, (folder_ / "checkpoints").string());
}

void Trainer::report_bad_samples() {
  for (Quarantine* quarantine : {train_quarantine_.get(), val_quarantine_.get()}) {
    for (const BadSampleRecord& record : quarantine->take_new()) {
      for (auto& hook : hooks_) hook->on_bad_sample(record);
    }
  }
}

void Trainer::evaluate() {
  last_eval_ = evaluator_->run(*predictor_);
  report_bad_samples();
  state_.evaluated_step = state_.step;
  double value = NAN;
  for (const auto& [name, metric] : named_values(last_eval_->report)) {
    if (name == experiment_.checkpoint.best_metric) value = metric;
  }
  if (value > state_.best_value) {
    state_.best_value = value;
    state_.best_step = state_.step;
    state_.evals_since_best = 0;
  } else {
    ++state_.evals_since_best;
  }
  for (auto& hook : hooks_) hook->on_eval(state_, epoch(), *last_eval_);
  meter_->skip();  // evaluation is not training time
}

void Trainer::save() {
  TSR_CHECK(step_->arena().params().sum().isfinite().item<bool>(),
            "the weights are no longer finite at step {}, so they are not saved; the checkpoints in {} "
            "are from before. Lower optimizer.lr or set optimizer.clip_norm",
            state_.step, (folder_ / "checkpoints").string());
  state_.loss_scale = step_->scaler().scale();
  state_.loss_scale_good_steps = step_->scaler().good_steps();
  state_.optimizer_steps = step_->optimizer().step_count();
  try {
    store_->save(
        {model_state(*model_), step_->optimizer().state(), state_, train_set_->classes(), experiment_yaml(experiment_)});
  } catch (const Error& e) {
    // The save before this one failed in the background (a full disk, say). What is on the disk is whole; training goes on.
    for (auto& hook : hooks_) hook->on_warning(state_.step, e.what());
    store_->save(
        {model_state(*model_), step_->optimizer().state(), state_, train_set_->classes(), experiment_yaml(experiment_)});
  }
  saved_step_ = state_.step;
  for (auto& hook : hooks_) hook->on_checkpoint(state_);
}

bool Trainer::due(const Duration& every) const {
  const int64_t steps = interval(every, steps_per_epoch_, total_steps_);
  return state_.step > 0 && (state_.step == total_steps_ || (steps > 0 && state_.step % steps == 0));
}

bool Trainer::evaluation_due() const {
  return val_set_->size() > 0 && state_.evaluated_step != state_.step && (due(experiment_.eval.every) || finished());
}

bool Trainer::save_due() const {
  const bool new_best = experiment_.checkpoint.keep_best && state_.best_step == state_.step;
  return saved_step_ != state_.step && (due(experiment_.checkpoint.every) || new_best || finished());
}

bool Trainer::finished() const {
  const int64_t patience = experiment_.checkpoint.early_stop;
  return state_.step >= total_steps_ || (patience > 0 && state_.evals_since_best >= patience);
}

}  // namespace tessera
