#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "config/experiment.h"
#include "core/progress.h"
#include "data/batch/loader.h"
#include "data/loading/loader_advice.h"
#include "dist/world.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "infer/data_notes.h"
#include "infer/evaluator.h"
#include "infer/torch_settings.h"
#include "train/event_schedule.h"
#include "train/hooks/hooks.h"
#include "train/meter.h"
#include "train/run_options.h"
#include "train/run_origin.h"
#include "train/run_profile.h"
#include "train/run_result.h"
#include "train/step_guard.h"
#include "train/time_limit.h"
#include "train/train_step.h"

namespace tessera {

// Trains one model from a config to the end of its duration. All of a run's state is in TrainState and the arenas, so a run
// that is killed and resumed gives the bits of one that was not. On several ranks each has a trainer; they do the same
// things in the same order, and only the first one writes. A process may train any number of runs, one after another.
class Trainer {
 public:
  // Opens the data, builds the model, loads the newest checkpoint when resuming or going on, and checks everything that can be
  // known before the first step. Throws Error or UsageError. Used and destroyed on the thread that made it, whose TorchSettings
  // it holds; `world` must outlive it.
  Trainer(const Experiment& experiment, const RunOptions& options, World& world);
  ~Trainer();

  // See Note [Order of events]. Once. hooks: of this rank; most runs have none but on the first rank.
  RunResult run(Hooks& hooks);

  // While it lives, the model computes with the weights that evaluation takes: their average, where there is one and the config
  // says so; else it is null. A collective.
  std::unique_ptr<WeightAverage::Scope> averaged_weights();

  const Evaluator& evaluator() const { return *evaluator_; }
  const Predictor& predictor() const { return *predictor_; }
  const ClassTable& classes() const { return train_set_->classes(); }
  std::string device() const { return device_.str(); }
  int64_t num_parameters() const { return num_parameters_; }
  const Experiment& experiment() const { return experiment_; }
  bool resumed() const { return resumed_; }
  const std::optional<RunOrigin>& origin() const { return origin_; }  // on the first rank, of a run that has just gone on

 private:
  void open_data();
  void build_model();
  void load_state();
  void forget_other_best(const std::string& saved_yaml);
  void go_on_from_origin();
  void take(Checkpoint checkpoint);
  void broadcast_initial_state();
  void tune_exchange_settings();
  void check_view_memory();
  void set_length();
  LoaderOptions loader_options(const MixOptions& mix) const;
  void make_loader();
  void train_one_step();
  void settle_steps(bool all);  // deals with steps that were held: Note [Held steps]
  void deal_with(const StepGuard::Held& held);
  void measure_statistics();
  void evaluate();
  void keep_evaluated();
  void save();
  void report_bad_samples();
  void warn(const std::string& text);  // empty: of nothing
  void warn_of_average();              // where it will hardly leave the weights it began with, or never begins
  void warn_of_waiting(double wait_share);
  void tell_of_few_batches();
  LoaderLoad loader_load(double wait_share) const;
  void end_profile();
  void log_step(const StepResult& result);

  bool stop_asked();  // a collective
  Progress progress() const { return events_->progress(state_); }
  RunInfo info() const;
  RunResult result();

  Experiment experiment_;
  RunOptions options_;
  std::filesystem::path folder_;
  World& world_;
  bool resumed_ = false;             // from its own checkpoint
  bool goes_on_ = false;             // from another run: Note [Going on]
  std::optional<RunOrigin> origin_;  // on the first rank, where goes_on_
  at::Device device_;
  std::optional<TorchSettings> settings_;
  DatasetPtr train_set_, val_set_;
  SampleNames samples_;          // of the first rank
  ImageFacts images_;            // of the training set
  std::vector<double> chances_;  // of the training samples; empty: all alike
  Pipeline train_pipeline_;
  std::unique_ptr<Quarantine> train_quarantine_;
  ModelPtr model_;
  int64_t num_parameters_ = 0;
  std::unique_ptr<TrainStep> step_;
  std::unique_ptr<Predictor> predictor_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<CheckpointStore> store_;        // on the first rank only
  NamedTensors optimizer_state_, average_state_;  // of the checkpoint, until all ranks have it
  std::unique_ptr<StepGuard> guard_;
  std::unique_ptr<Loader> loader_;
  TrainState state_;
  int64_t statistics_batches_ = 0;  // of train.precise_bn
  std::optional<EventSchedule> events_;
  int stop_signal_ = 0;      // that any rank received
  std::string stop_reason_;  // of a hook of any rank
  TimeLimit time_limit_;
  bool out_of_time_ = false;  // on any rank
  RunProfile profile_;
  bool warned_of_nothing_ = false, warned_of_classes_ = false, warned_of_waiting_ = false, told_of_few_batches_ = false;
  LabelWatch first_labels_;
  std::optional<EvalResult> last_eval_;
  Hooks* hooks_ = nullptr;  // while it runs
  std::optional<StepMeter> meter_;
};

}  // namespace tessera
