// `tessera scale`: the same training on several numbers of ranks.
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/chart_picture.h"
#include "apps/command.h"
#include "apps/study_folder.h"
#include "core/error.h"
#include "core/file_lock.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/signals.h"
#include "core/split.h"
#include "data/decode/png_writer.h"
#include "study/executor/slurm_executor.h"
#include "study/scale/follow_trials.h"
#include "study/scale/scale_files.h"
#include "study/scale/scale_study.h"

namespace tessera {
namespace {

struct ScaleArguments {
  ConfigArguments config;
  std::vector<int64_t> ranks;
  std::vector<std::string> modes, models, hosts, sbatch, setup;
  int64_t repeat = 0, at_once = 0;
  bool strong = false, weak = false, retry_failed = false, dry_run = false, stop = false, show = false;
  std::string name, folder, prices, submit, partition, account, time, memory;
  std::optional<int64_t> gpus_per_node, ranks_per_node, cores_per_rank, save_s;
  std::optional<double> target;

  ScaleFile study() const;
};

ParallelMode mode_named(const std::string& text) {
  const auto& names = EnumNames<ParallelMode>::names;
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) fail_usage("--modes: expected {}; '{}' is not among them", fmt::join(names, ", "), text);
  return static_cast<ParallelMode>(found - names.begin());
}

template <class Options>
Options& chosen(ExecutorConfig& executor) {
  if (!std::holds_alternative<Options>(executor)) executor = Options{};
  return std::get<Options>(executor);
}

void put(std::string& value, const std::string& given) {
  if (!given.empty()) value = given;
}
void put(int64_t& value, const std::optional<int64_t>& given) {
  if (given) value = *given;
}

// Flags lie over the study's file.
void apply_executor(const ScaleArguments& given, ExecutorConfig& executor) {
  if (given.submit == "local") executor = LocalOptions{};
  if (given.submit == "ssh" || !given.hosts.empty()) {
    SshOptions& ssh = chosen<SshOptions>(executor);
    if (!given.hosts.empty()) ssh.hosts = given.hosts;
    if (!given.setup.empty()) ssh.setup = given.setup;
    return;
  }
  const bool for_slurm = !given.partition.empty() || !given.account.empty() || !given.time.empty() || !given.memory.empty() ||
                         !given.sbatch.empty() || given.gpus_per_node || given.ranks_per_node || given.cores_per_rank ||
                         given.save_s;
  if (given.submit == "slurm") chosen<SlurmOptions>(executor);
  auto* slurm = std::get_if<SlurmOptions>(&executor);
  if (slurm == nullptr) {
    if (for_slurm || !given.setup.empty())
      fail_usage("--partition, --account, --time, --gpus-per-node, --sbatch and the like are for --submit slurm");
    return;
  }
  put(slurm->partition, given.partition);
  put(slurm->account, given.account);
  put(slurm->time, given.time);
  put(slurm->memory, given.memory);
  put(slurm->gpus_per_node, given.gpus_per_node);
  put(slurm->ranks_per_node, given.ranks_per_node);
  put(slurm->cores_per_rank, given.cores_per_rank);
  put(slurm->save_s, given.save_s);
  slurm->sbatch.insert(slurm->sbatch.end(), given.sbatch.begin(), given.sbatch.end());
  slurm->setup.insert(slurm->setup.end(), given.setup.begin(), given.setup.end());
}

ScaleFile ScaleArguments::study() const {
  TSR_CHECK_USAGE(!config.file().empty(),
                  "what is to be scaled? expected a config, or a study's file: tessera scale demo --ranks 1,2");
  TSR_CHECK_USAGE(!(strong && weak), "--strong and --weak are two studies; give one of them");
  ScaleFile file;
  if (auto read = read_scale_file(config.file())) {
    file = *read;
  } else {
    std::error_code error;
    file.config.config = fs::exists(config.file(), error) ? fs::absolute(config.file()).string() : config.file().string();
    file.config.name = config.file().stem().string();
  }
  ScaleConfig& scale = file.config;
  for (const std::string& text : config.overrides()) scale.set.push_back(text);
  if (!ranks.empty()) scale.ranks = ranks;
  if (std::any_of(scale.ranks.begin(), scale.ranks.end(), [](int64_t count) { return count < 1; }))
    fail_usage("--ranks {}: expected numbers from 1, such as 1,2,4", fmt::join(scale.ranks, ","));
  if (!modes.empty()) scale.modes.clear();
  for (const std::string& mode : modes) scale.modes.push_back(mode_named(mode));
  if (!models.empty()) scale.models = models;
  if (strong) scale.scaling = Scaling::kStrong;
  if (weak) scale.scaling = Scaling::kWeak;
  if (repeat > 0) scale.repeat = repeat;
  if (at_once > 0) scale.at_once = at_once;
  if (target) scale.target = target;
  put(scale.name, name);
  if (!prices.empty()) file.prices = read_prices(prices_file(prices));
  apply_executor(*this, file.executor);
  return file;
}

// Scripts for a person to read and to submit; nothing is started.
void dry_run(const ScaleFile& study, const std::vector<PlannedTraining>& planned, const ScaleState& state,
             const fs::path& folder) {
  const auto* slurm = std::get_if<SlurmOptions>(&study.executor);
  const auto executor = make_executor(study.executor);
  ScaleState now = state;
  const TrialFollower follower({folder}, {.name = study.config.name}, now, *executor);
  for (const PlannedTraining& training : planned) {
    ScaleTrial trial = training.trial;
    for (const ScaleTrial& known : state.trials()) {
      if (known.cell == trial.cell) trial = known;
    }
    if (is_finished(trial.state) || trial.state == TrialState::kRunning) continue;
    ++trial.attempt;  // the job that would be next
    const Job job = follower.job_of(trial);
    if (slurm != nullptr && !slurm->allocation) {
      SlurmExecutor(*slurm).write_script(job);
      fmt::print("sbatch {}\n", printable((job.folder / "job.sh").string()));
    } else {
      fmt::print("{}: tessera {}\n", cell_name(trial.cell), printable(fmt::format("{}", fmt::join(trial.arguments, " "))));
    }
  }
}

int scale(const ScaleArguments& arguments) {
  const ScaleFile study = arguments.study();
  const ScaleConfig& config = study.config;
  const fs::path folder =
      fs::absolute(arguments.folder.empty() ? fs::path("studies") / config.name : fs::path(arguments.folder));
  const std::vector<PlannedTraining> planned = plan_scale(config, folder, check_model);
  if (const std::string left_out = left_out_of_none(config); !left_out.empty()) log_warn("{}", left_out);
  refuse_other_study(folder, kStudyStore, "tessera tune");
  make_folders(folder);
  FileLock lock(folder / "lock", "");
  if (!arguments.show && !lock.try_lock())
    fail("{} is followed by {} already; end that one first", printable(folder.string()), lock.holder());
  ScaleState state(folder / kScaleState);
  std::vector<ScaleTrial> asked;
  for (const PlannedTraining& training : planned) asked.push_back(training.trial);
  state.take(asked);
  if (arguments.retry_failed) state.forgive();
  const auto write = [&] {
    const std::vector<ScaleOutcome> outcomes = scale_outcomes(planned, state, folder);
    ScaleTable table = scale_table(outcomes, config.target, study.prices);
    write_scale_files(folder, table, outcomes, config);
    write_file(folder / "scale.png", encode_png(chart_picture(scale_charts(table, config.scaling))));
    return table;
  };
  if (arguments.dry_run) {
    dry_run(study, planned, state, folder);
    return 0;
  }
  if (!arguments.show) {
    const auto executor = make_executor(study.executor);
    const bool queued = std::holds_alternative<SlurmOptions>(study.executor);
    TrialFollower follower(
        {folder},
        {.name = config.name, .at_once = config.at_once > 0 || queued ? config.at_once : 1, .retries = config.retries}, state,
        *executor);
    if (arguments.stop) {
      follower.stop();
      fmt::print("those that run were told to save and end; the same command without --stop goes on\n");
      return 0;
    }
    state.save();
    follower.run([&] { write(); });
  }
  fmt::print("{}", scale_text(write()));
  for (const ScaleTrial& trial : state.trials()) {
    if (trial.state == TrialState::kFailed)
      fmt::print("failed: {}: {}; {}\n", cell_name(trial.cell), printable(trial.reason),
                 printable((ScaleFolders{folder}.job(trial) / "output.txt").string()));
  }
  fmt::print("{}\n", printable((folder / "scale.html").string()));
  if (stop_signal() != 0) {
    log_info("what runs goes on by itself: the same command follows it again, with --stop it saves and ends");
    return 128 + stop_signal();
  }
  const auto failed = [](const ScaleTrial& trial) { return trial.state == TrialState::kFailed; };
  return std::any_of(state.trials().begin(), state.trials().end(), failed) ? 1 : 0;
}

void add_slurm(CLI::App& command, ScaleArguments& arguments) {
  command.add_option("--partition", arguments.partition, "Slurm: partition");
  command.add_option("--account", arguments.account, "Slurm: account");
  command.add_option("--time", arguments.time,
                     "Slurm: limit of a job, 30 or 12:00:00; a training that reaches it goes on in another");
  command.add_option("--gpus-per-node", arguments.gpus_per_node, "Slurm: GPUs of a node, one for each rank");
  command.add_option("--ranks-per-node", arguments.ranks_per_node, "Slurm: most ranks on a node, where there are no GPUs");
  command.add_option("--cores-per-rank", arguments.cores_per_rank, "Slurm: CPU cores of a rank");
  command.add_option("--mem", arguments.memory, "Slurm: memory of a node, as 64G");
  command.add_option("--save-seconds", arguments.save_s,
                     "Slurm: seconds before the limit at which a training saves; default: 120");
  command
      .add_option("--sbatch", arguments.sbatch, "Slurm: a further option of sbatch, as --sbatch=--qos=long; may be given again")
      ->allow_extra_args(false);
}

}  // namespace

void add_scale(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ScaleArguments>();
  CLI::App* command = app.add_subcommand(
      "scale", "train on several numbers of ranks, here, over ssh or on Slurm: speed-up, efficiency, result, cost");
  arguments->config.add_to(*command);
  command->add_option("--ranks", arguments->ranks, "numbers of ranks: 1,2,4,8")->delimiter(',')->allow_extra_args(false);
  command->add_option("--modes", arguments->modes, "none, dp, ddp, zero1, several by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--models", arguments->models,
                   "models in place of the config's, by commas: names, or those of configs/base/models")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--strong", arguments->strong, "the batch stays the same (the default)");
  command->add_flag("--weak", arguments->weak, "train.batch_size is for one rank and grows with them, and the rate with it");
  command->add_option("--repeat", arguments->repeat, "trainings of each kind, with seeds of their own")->check(above_zero());
  command->add_option("--target", arguments->target, "value of checkpoint.best_metric whose time and cost are told");
  command->add_option("--prices", arguments->prices, "file with what devices cost for an hour: docs/studies.md");
  command->add_option("--name", arguments->name, "of the study; default: that of CONFIG");
  command->add_option("--folder", arguments->folder, "where it lies; default: studies/NAME");
  command
      ->add_option("--submit", arguments->submit,
                   "local: this machine, one training at a time (the default); ssh: --hosts; slurm")
      ->check(CLI::IsMember({"local", "ssh", "slurm"}));
  command->add_option("--hosts", arguments->hosts, "ssh: hosts and the ranks that each takes, node1:4,node2:4")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_slurm(*command, *arguments);
  command
      ->add_option("--setup", arguments->setup,
                   "a line of the job's script before the command, as 'module load cuda'; may be given again")
      ->allow_extra_args(false);
  command->add_option("--at-once", arguments->at_once, "trainings at a time; default: one, on Slurm all")->check(above_zero());
  command->add_flag("--dry-run", arguments->dry_run,
                    "check everything and write the batch scripts, for you to read or to submit");
  command->add_flag("--retry-failed", arguments->retry_failed,
                    "trainings that failed are started again, from their last checkpoints");
  command->add_flag("--stop", arguments->stop, "tell the trainings that run to save and end");
  command->add_flag("--show", arguments->show, "the table and the page as they are now; nothing is started");
  command->footer(
      "CONFIG is an experiment's, or a study's file with `config:`, `ranks:`, ... (docs/scaling.md). The study lies in one "
      "folder: runs/, jobs/, study.json,\nscale.csv, scale.json, scale.svg, scale.png, scale.html. Started again, the same "
      "command finds its jobs and goes on; with more ranks it adds to the study.");
  command->callback([arguments, &exit_code] { exit_code = scale(*arguments); });
}

}  // namespace tessera
