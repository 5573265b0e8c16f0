#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "config/experiment.h"
#include "data/batch/loader.h"
#include "dist/world.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "infer/data_notes.h"
#include "infer/evaluator.h"
#include "train/hooks/hook.h"
#include "train/meter.h"
#include "train/train_step.h"

namespace tessera {

struct TrainerOptions {
  std::filesystem::path folder;  // of the run
  bool resume = false;
  std::string device = {};              // of this rank; empty: train.device
  bool sharded = false;                 // ZeRO-1
  bool autotune_exchange = false;       // measure bucket sizes and compression first
  std::filesystem::path timeline = {};  // Chrome trace of all ranks, written at the end
};

struct RunResult {
  TrainState state;
  std::optional<EvalResult> last_eval;
  ClassTable classes;
  int signal = 0;  // the stop signal that ended the run early, or 0
};

// Trains one model from a config to the end of its duration. All of a run's state is in TrainState and the arenas, so a run
// that is killed and resumed gives the bits of one that was not. On several ranks each has a trainer; they do the same
// things in the same order, and only the first one has hooks and writes.
class Trainer {
 public:
  // Opens the data, builds the model, loads the newest checkpoint when resuming, and checks everything that can be known
  // before the first step. Throws Error or UsageError.
  Trainer(const Experiment& experiment, const TrainerOptions& options, World& world);
  ~Trainer();

  void add_hook(std::unique_ptr<Hook> hook) { hooks_.push_back(std::move(hook)); }

  // See Note [Order of events].
  RunResult run();

  const Dataset& val_set() const { return *val_set_; }
  const Evaluator& evaluator() const { return *evaluator_; }
  const Predictor& predictor() const { return *predictor_; }
  const ClassTable& classes() const { return train_set_->classes(); }
  std::string device() const { return device_.str(); }
  int64_t num_parameters() const { return num_parameters_; }
  const Experiment& experiment() const { return experiment_; }
  bool resumed() const { return resumed_; }

 private:
  void open_data();
  void build_model();
  void load_state();
  void start_from_first();
  void tune_exchange_settings();
  void check_view_memory();
  void train_one_step();
  bool evaluate();
  void keep_evaluated();
  std::unique_ptr<WeightAverage::Scope> averaged_weights();
  void save();
  void report_bad_samples();
  void warn(const std::string& text);  // empty: of nothing
  void warn_of_average();              // where it will hardly leave the weights it began with
  void tell_failure(const std::string& reason);
  void log_step(const StepResult& result);

  bool due(const Duration& every) const;
  bool evaluation_due() const;
  bool save_due() const;
  bool finished() const;
  double epoch() const { return static_cast<double>(state_.step) / static_cast<double>(steps_per_epoch_); }

  Experiment experiment_;
  TrainerOptions options_;
  std::filesystem::path folder_;
  World& world_;
  bool resumed_ = false;
  int signal_ = 0;  // that any rank received
  at::Device device_;
  DatasetPtr train_set_, val_set_;
  SampleNames samples_;  // of the first rank
  Pipeline train_pipeline_;
  std::unique_ptr<Quarantine> train_quarantine_;
  ModelPtr model_;
  int64_t num_parameters_ = 0;
  std::unique_ptr<TrainStep> step_;
  std::unique_ptr<Predictor> predictor_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<CheckpointStore> store_;        // on the first rank only
  NamedTensors optimizer_state_, average_state_;  // of the checkpoint, until all ranks have it
  std::unique_ptr<Loader> loader_;
  int64_t steps_per_epoch_ = 0, total_steps_ = 0, log_every_ = 1;
  TrainState state_;
  int64_t saved_step_ = -1;
  bool warned_of_nothing_ = false, warned_of_classes_ = false;
  LabelWatch first_labels_;
  std::optional<EvalResult> last_eval_;
  Hooks hooks_;
  std::optional<StepMeter> meter_;
  std::unique_ptr<WeightAverage::Scope> final_weights_;  // at the end of a run, for those who still look at the model
};

}  // namespace tessera
