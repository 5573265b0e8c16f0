#include <algorithm>

#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory_limit.h"
#include "core/signals.h"
#include "data/batch/input_batch.h"
#include "data/datasets/data_line.h"
#include "data/transforms/make_pipeline.h"
#include "dist/tune_exchange.h"
#include "infer/auto_precision.h"
#include "infer/checkpoint/model_state.h"
#include "infer/eval_metrics.h"
#include "infer/pretrained.h"
#include "infer/rank_consensus.h"
#include "infer/run_images.h"
#include "tensor/device.h"
#include "train/balanced_sampling.h"
#include "train/class_weights.h"
#include "train/rank_weights.h"
#include "train/resume_check.h"
#include "train/run_folder.h"
#include "train/trainer.h"

// Everything that happens to a trainer before its first step.
namespace tessera {
namespace {

// What torch's update_bn makes of an epoch needs no whole one.
constexpr int64_t kBatchesOfSwa = 50;

int64_t batches_of_statistics(const TrainConfig& train, const SegmentationModel& model) {
  if (model.buffers().empty()) return 0;  // no batch norm
  return train.precise_bn.batches.value_or(train.swa.enabled() ? kBatchesOfSwa : 0);
}

}  // namespace

Trainer::Trainer(const Experiment& experiment, const RunOptions& options, World& world)
    : experiment_(experiment),
      options_(options),
      folder_(run_folder(experiment)),
      world_(world),
      device_(pick_device(options.device.empty() ? experiment.train.device : options.device)),
      time_limit_(options.ends_at_s),
      profile_(world.is_first() ? options.profile_steps : 0, device_) {
  experiment_.train.precision = pick_precision(experiment_.train.precision, device_);
  const TrainConfig& train = experiment_.train;
  if (train.precision == Precision::kFp16 && !device_.is_cuda())
    fail_usage("train.precision=fp16 needs a GPU; on the CPU use bf16 or fp32");
  settings_.emplace(train, device_);
  world_.connect(device_);  // before anything that takes memory: a rank without it would be waited for
  open_data();
  std::string& best_metric = experiment_.checkpoint.best_metric;
  best_metric = full_metric_name(best_metric, experiment_.eval, train_set_->classes());
  build_model();
  if (world_.is_first()) {
    store_ = std::make_unique<CheckpointStore>(folder_ / "checkpoints", experiment_.checkpoint,
                                               run_access(experiment_.run, folder_));
    Arena& arena = step_->arena();
    store_->check_room(static_cast<int64_t>(arena.params().nbytes() + arena.buffers().nbytes()) +
                       step_->optimizer().state_bytes() + step_->average().bytes());
    if (options.resume) load_state();
    if (!resumed_ && !options.from.empty()) go_on_from_origin();
    // A checkpoint has replaced them; the file may be gone by then.
    if (!resumed_ && !goes_on_ && !experiment_.model.pretrained.empty())
      log_info("{}", load_pretrained(*model_, experiment_.model, {.classes = train_set_->classes().names}).table());
  }
  broadcast_initial_state();
  if ((options.autotune_exchange || state_.exchange) && !world_.alone()) tune_exchange_settings();

  evaluator_ = std::make_unique<Evaluator>(experiment_, val_set_, world_);
  check_view_memory();
  set_length();
  guard_ = std::make_unique<StepGuard>(experiment_.guard, *step_, world_, *train_set_, StepGuard::late_by_device(device_));
  make_loader();
}

void Trainer::set_length() {
  const TrainConfig& train = experiment_.train;
  EventSchedule::Length length{.steps_per_epoch = (train_set_->size() + train.batch_size - 1) / train.batch_size};
  length.total = std::max<int64_t>(1, train.duration.steps(length.steps_per_epoch, 0));
  TSR_CHECK_USAGE(
      !goes_on_ || state_.step < length.total,
      "train.duration={} ends at step {}, and --from {} stands at step {} already; its steps count: set a longer one",
      train.duration.text(), length.total, options_.from.string(), state_.step);
  length.last = length.total;
  if (options_.stop_at)
    length.last = std::clamp<int64_t>(options_.stop_at->steps(length.steps_per_epoch, length.total), 1, length.total);
  statistics_batches_ = batches_of_statistics(train, *model_);
  events_.emplace(experiment_, length, /*evaluates=*/val_set_->size() > 0, /*measures=*/statistics_batches_ > 0);
  if (resumed_) events_->note_saved(state_);
}

LoaderOptions Trainer::loader_options(const MixOptions& mix) const {
  return {.batch_size = experiment_.train.batch_size,
          .seed = experiment_.train.seed,
          .positions = step_->slice().positions,
          .mix = mix,
          .chances = chances_,
          .threads = loader_threads(experiment_.data.threads, world_.spec.local_world_size),
          .prefetch = static_cast<int>(experiment_.data.prefetch),
          .max_bytes = memory_for_reading_ahead(world_.spec.local_world_size),
          .pin_memory = device_.is_cuda()};
}

void Trainer::make_loader() {
  loader_.reset();  // its threads end before those of the new one begin
  const MixOptions mix{experiment_.train.mixup, experiment_.train.cutmix};
  loader_ = std::make_unique<Loader>(*train_set_, train_pipeline_, *train_quarantine_, loader_options(mix), state_.step);
}

void Trainer::open_data() {
  if (options_.data) check_run_data(*options_.data, experiment_);
  const RunData data = options_.data ? *options_.data : open_run_data(experiment_);
  train_set_ = data.train;
  val_set_ = data.val;
  const int num_classes = train_set_->classes().size();
  TSR_CHECK_USAGE(experiment_.model.num_classes == 0 || experiment_.model.num_classes == num_classes,
                  "model.num_classes is {}, but the data has {} classes; leave it at 0 to follow the data",
                  experiment_.model.num_classes, num_classes);
  const RunImages images = images_of_run(experiment_, *train_set_, folder_, options_.resume, world_, data.looked.get());
  experiment_.data.normalize = images.normalize;
  images_ = images.facts;
  find_class_weights(experiment_, *train_set_, *data.labels, folder_, options_.resume, world_);
  chances_ = chances_of_run(experiment_.data, *train_set_, *data.labels, world_);
  const bool on_device = changes_colors(device_, experiment_.data.normalize, experiment_.data.channels);
  train_pipeline_ = make_pipeline(experiment_.data, Split::kTrain, on_device ? ColorPlace::kDevice : ColorPlace::kLoader);
  train_quarantine_ = std::make_unique<Quarantine>(train_set_->size(), experiment_.data.max_bad_share);
  if (!world_.is_first()) return;
  samples_ = SampleNames(*train_set_, *val_set_);
  announce_data(experiment_.data, {{Split::kTrain, train_set_}, {Split::kVal, val_set_}});
  for (const std::string& note : data_notes(*train_set_, *val_set_, experiment_.train.batch_size)) log_warn("{}", note);
}

void Trainer::build_model() {
  const int num_classes = train_set_->classes().size();
  model_ = make_model(experiment_, num_classes);
  num_parameters_ = count_parameters(*model_);
  step_ = std::make_unique<TrainStep>(
      experiment_, model_, num_classes, device_, world_,
      StepOptions{.sharded = options_.sharded, .rank_weights = rank_weights(experiment_.dist, world_, device_)});
  if (!options_.timeline.empty()) step_->trace().switch_on();
  predictor_ = std::make_unique<Predictor>(experiment_, model_, device_);
}

// Scales that no memory holds are known before training; other sizes of images show when they come.
void Trainer::check_view_memory() {
  predictor_->stop_when([this] { return stop_signal() != 0 || time_limit_.leaves_no_time(); });
  const auto& scales = experiment_.eval.scales;
  if (val_set_->size() == 0 || *std::max_element(scales.begin(), scales.end()) <= 1) return;
  try {
    const Image first = evaluator_->samples().load(0).sample.image;
    predictor_->check_memory(first.height, first.width, first.channels);
  } catch (const TooLarge& e) {
    throw UsageError(e.what());
  } catch (const BadSample&) {
    return;  // the evaluation reports it
  }
}

Trainer::~Trainer() = default;

void Trainer::load_state() {
  auto checkpoint = store_->load_latest();
  if (!checkpoint) {
    log_info("nothing to resume in {}: starting from {}", folder_.string(),
             options_.from.empty() ? "the beginning" : options_.from.string());
    return;
  }
  check_same_experiment(checkpoint->config_yaml, experiment_);
  check_same_samples(checkpoint->samples, samples_);
  const std::string saved_yaml = checkpoint->config_yaml;
  take(std::move(*checkpoint));
  forget_other_best(saved_yaml);
  resumed_ = true;
}

// The best value of one metric says nothing of another.
void Trainer::forget_other_best(const std::string& saved_yaml) {
  const Experiment saved = read_experiment(parse_config(saved_yaml, "the checkpoint's config.yaml"), MissingSecrets::kKeep);
  const std::string& before = saved.checkpoint.best_metric;
  const std::string& now = experiment_.checkpoint.best_metric;
  if (before == now || !state_.best_value) return;
  log_info("checkpoint.best_metric was {} and is {} now: the best is looked for anew", before, now);
  state_.best_value.reset();
  state_.best_step = -1;
  state_.evals_since_best = 0;
}

void Trainer::go_on_from_origin() {
  OriginCheckpoint from = load_origin(options_.from, experiment_, samples_);
  try {
    take(std::move(from.checkpoint));
  } catch (const Error& e) {
    fail_usage("--from {}: {}; {}", options_.from.string(), e.what(), instead_of_going_on(options_.from));
  }
  origin_ = std::move(from.origin);
  goes_on_ = true;
}

void Trainer::take(Checkpoint checkpoint) {
  load_model_state(*model_, checkpoint.model);
  optimizer_state_ = std::move(checkpoint.optimizer);
  average_state_ = std::move(checkpoint.average);
  state_ = checkpoint.state;
  images_ = std::move(checkpoint.images);
}

// Every rank starts with what the first one has: only that one needs the pretrained weights and the checkpoint.
void Trainer::broadcast_initial_state() {
  Arena& arena = step_->arena();
  world_.gradients.broadcast(arena.params());
  world_.gradients.broadcast(arena.buffers());
  for (const at::Tensor& value : model_->parameters()) {
    if (!value.requires_grad()) world_.gradients.broadcast(value);  // frozen: not in the arena
  }
  resumed_ = max_over_ranks(world_, resumed_ ? 1 : 0) != 0;
  goes_on_ = max_over_ranks(world_, goes_on_ ? 1 : 0) != 0;
  if (!resumed_ && !goes_on_) return;
  state_ = state_of_first(world_, state_);
  try {
    step_->optimizer().load_state(optimizer_state_);
  } catch (const Error& e) {
    if (!goes_on_) throw;
    fail_usage("--from {}: {}; {}", options_.from.string(), e.what(), instead_of_going_on(options_.from));
  }
  optimizer_state_.clear();
  if (max_over_ranks(world_, average_state_.empty() ? 0 : 1) != 0) step_->average().load(average_state_, world_.gradients);
  average_state_.clear();
  step_->optimizer().set_step_count(state_.optimizer_steps);
  step_->scaler().restore({state_.loss_scale, static_cast<double>(state_.loss_scale_good_steps),
                           static_cast<double>(state_.optimizer_steps), static_cast<double>(state_.skipped_steps)});
}

// Other buckets add up the same numbers; compression rounds them. So it is chosen once, at the start of a run, and kept.
void Trainer::tune_exchange_settings() {
  if (!state_.exchange) {
    const DistConfig best = tune_exchange(*step_->reducer(), world_.control, experiment_.dist, /*may_round=*/!resumed_,
                                          [&](const DistConfig& tried, double ms) {
                                            if (world_.is_first())
                                              log_info("exchange of gradients: buckets of {} MB, compression {}: {:.2f} ms",
                                                       tried.bucket_mb, name_of(tried.compression), ms);
                                          });
    state_.exchange = {best.bucket_mb, best.compression};
  }
  DistConfig chosen = experiment_.dist;
  chosen.bucket_mb = state_.exchange->bucket_mb;
  chosen.compression = state_.exchange->compression;
  step_->reducer()->set_exchange(chosen);
  if (world_.is_first())
    log_info("exchange of gradients: chosen{} dist.bucket_mb={} dist.compression={}", resumed_ ? " for this run:" : "",
             chosen.bucket_mb, name_of(chosen.compression));
}

}  // namespace tessera
