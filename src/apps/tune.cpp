#include <algorithm>
#include <csignal>

#include "apps/command.h"
#include "apps/study_folder.h"
#include "apps/study_screen.h"
#include "core/clock.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/memory_limit.h"
#include "core/printable.h"
#include "core/progress_bar.h"
#include "core/suggest.h"
#include "infer/eval_metrics.h"
#include "launch/node/affinity.h"
#include "study/controller/controller.h"
#include "study/controller/trial_values.h"
#include "study/pareto.h"
#include "tensor/device.h"

namespace tessera {
namespace {

constexpr int kInterrupted = 130, kTerminated = 143;
constexpr const char* kStopFile = "stop";  // `tessera tune stop` leaves it

// As YAML reads it back.
std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? "''" : std::string(1, c);
  return all + "'";
}

struct TuneArguments {
  std::vector<std::string> words, vary, settings, objectives;
  std::string name, folder, search, scheduler, time, prices;
  std::optional<int64_t> trials, at_once, seed;

  StudyRequest request() const {
    StudyRequest request;
    request.vary = vary;
    request.settings = settings;
    for (const std::string& word : words) {
      if (word.find('=') != std::string::npos) {
        request.overrides.push_back(word);
      } else if (request.file.empty()) {
        request.file = study_file_of(word);
      } else {
        fail_usage("two files: {} and {}; expected one, then key=value pairs of the config", request.file.string(), word);
      }
    }
    const auto set = [&](const char* key, const std::string& value) {
      if (!value.empty()) request.settings.push_back(std::string(key) + "=" + value);
    };
    const auto number = [](const std::optional<int64_t>& value) { return value ? std::to_string(*value) : ""; };
    // What is gone on with by its folder stays there.
    std::error_code error;
    if (request.file.filename() == kStudyFile && fs::exists(request.file.parent_path() / kStudyStore, error))
      set("folder", quoted(fs::absolute(request.file.parent_path()).string()));
    set("name", name);
    set("folder", folder.empty() ? "" : quoted(folder));
    set("search", search);
    set("scheduler", scheduler);
    set("budget.trials", number(trials));
    set("budget.time", time);
    set("prices", prices.empty() ? "" : quoted(fs::absolute(prices).string()));
    set("resources.at_once", number(at_once));
    set("seed", number(seed));
    std::vector<std::string> metrics;
    for (const std::string& objective : objectives) metrics.push_back(quoted(objective));
    if (!metrics.empty()) set("objectives", fmt::format("[{}]", fmt::join(metrics, ", ")));
    return request;
  }
};

volatile std::sig_atomic_t interrupts = 0, terminated = 0;

void note_interrupt(int /*signal*/) {
  interrupts = interrupts + 1;
}
void note_termination(int /*signal*/) {
  terminated = 1;
}

// Trials have sessions of their own: a Ctrl-C reaches only this process.
void catch_signals() {
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = note_interrupt;
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = note_termination;
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

// What signals and `tessera tune stop` ask for; says once what follows from it.
class Wishes {
 public:
  explicit Wishes(const fs::path& folder) : stop_file_(folder / kStopFile) {}

  StudyWish operator()() {
    std::error_code error;
    StudyWish wish = StudyWish::kNone;
    if (interrupts == 1) wish = StudyWish::kFinish;
    if (interrupts >= 2 || fs::exists(stop_file_, error)) wish = StudyWish::kStopTrials;
    if (interrupts >= 3 || terminated != 0) wish = StudyWish::kLeave;
    if (wish != said_) say(wish);
    return said_ = wish;
  }

 private:
  static void say(StudyWish wish) {
    if (wish == StudyWish::kFinish)
      log_info(
          "no new trials: those that run go to the end of their stretch. Ctrl-C again: they save and stop now. The same "
          "command goes on later");
    if (wish == StudyWish::kStopTrials) log_info("the trials save and stop; the same command goes on with them");
    if (wish == StudyWish::kLeave) log_info("the trials run on by themselves; the same command finds them again");
  }

  fs::path stop_file_;
  StudyWish said_ = StudyWish::kNone;
};

// study.html while a study runs: now and then, so that making it takes little of the time however many trials there are. A page
// that cannot be written ends no study.
class StudyPageWriter {
 public:
  StudyPageWriter(const StudyStore& store, const fs::path& folder) : store_(store), folder_(folder) {}

  void write_when_due() {
    if (monotonic_s() >= due_) write(/*running=*/true);
  }
  void write(bool running) {
    constexpr double kEvery_s = 30, kShare = 0.02;
    const double begun = monotonic_s();
    try {
      write_study_page(store_, folder_, running);
    } catch (const Error& e) {
      log_warn("{} was not written: {}", kStudyPage, e.what());
    }
    due_ = monotonic_s() + std::max(kEvery_s, (monotonic_s() - begun) / kShare);
  }

 private:
  const StudyStore& store_;
  fs::path folder_;
  double due_ = 0;
};

// A trial sees the GPUs that it was given and no other, so the first of them is its own.
void check_device(const TrainConfig& train) {
  if (!train.device.starts_with("cuda:") || train.device == "cuda:0") return;
  fail_usage(
      "train.device: {}: a study gives each trial a GPU of its own choice; set train.device=cuda, and to keep some GPUs free "
      "start it with CUDA_VISIBLE_DEVICES={}",
      train.device, train.device.substr(train.device.find(':') + 1));
}

// As far as it is known without the data: metrics of one class wait for the first evaluation.
void check_objectives(const std::vector<Objective>& objectives, const EvalConfig& eval) {
  std::vector<std::string> known = mean_metric_names(eval);
  for (std::string& fact : training_facts()) known.push_back(std::move(fact));
  for (const Objective& objective : objectives) {
    const std::string& name = objective.metric;
    if (name.find('/') == std::string::npos && std::find(known.begin(), known.end(), name) == known.end())
      fail_usage("objectives: there is no metric '{}'{}; there are {}, and those of one class, as iou/NAME", name,
                 did_you_mean(name, known), fmt::join(known, ", "));
  }
}

Machine this_machine(const StudyPlan& plan) {
  const CpuBudget budget = cpu_budget();
  Machine machine{.cores = std::max(1, std::min(static_cast<int>(allowed_cores().size()), budget.cpus())),
                  .memory_mb = static_cast<double>(memory_limit()) / 1e6};
  const bool cpu = plan.device == "cpu";
  if (cuda_plugin() != nullptr && !cpu) {
    for (const GpuInfo& gpu : cuda_plugin()->gpus())
      machine.gpu_memory_mb.push_back(static_cast<double>(gpu.memory_bytes) / 1e6);
  }
  return machine;
}

// How many jobs hosts or a cluster get at once. A queue takes any number; but what waits in it cannot learn from what runs.
int places_elsewhere(const Executor& executor, const StudyPlan& plan) {
  constexpr int kInQueue = 16;
  Job job;
  job.ranks = static_cast<int>(plan.settings.resources.ranks);
  job.cores = static_cast<int>(plan.settings.resources.cores);
  return executor.most_at_once(job).value_or(kInQueue);
}

// Of several objectives: the trials that no other one beats in all of them.
void print_front(const std::vector<Trial>& trials, const StudyPlan& plan) {
  std::vector<Direction> directions;
  for (const Objective& objective : plan.objectives) directions.push_back(objective.direction);
  for (const size_t place : pareto_front(trials, directions)) {
    const Trial& trial = trials[place];
    fmt::print("front    trial {}", trial.number);
    for (size_t i = 0; i < trial.values.size(); ++i) fmt::print("  {} {:.6g}", plan.objectives[i].metric, trial.values[i]);
    fmt::print("  {}\n", printable(plan.space.text(trial.parameters)));
  }
}

void print_result(const StudyStore& store, const StudyPlan& plan, const StudyEnd& end) {
  int64_t complete = 0, stopped = 0, failed = 0;
  double cost = 0;
  const std::vector<Trial> trials = store.load();
  for (const Trial& trial : trials) {
    complete += trial.state == TrialState::kComplete;
    stopped += trial.state == TrialState::kStopped;
    failed += trial.state == TrialState::kFailed;
    cost += trial_run_of(trial.attributes).cost;
  }
  fmt::print("trials   {}: {} complete, {} stopped, {} failed\n", trials.size(), complete, stopped, failed);
  if (plan.prices) fmt::print("cost     {:.2f} {}\n", cost, plan.prices->currency);
  fmt::print("ended    {}\n", end.text);
  if (const std::optional<Trial> best = best_trial(store)) {
    fmt::print("best     trial {}", best->number);
    for (size_t i = 0; i < best->values.size(); ++i) fmt::print("  {} {:.6g}", plan.objectives.at(i).metric, best->values[i]);
    fmt::print("\n         {}\n", printable(plan.space.text(best->parameters)));
    if (plan.objectives.size() > 1) print_front(trials, plan);
    fmt::print("train it tessera tune best {}\n", printable(plan.folder.string()));
  }
  fmt::print("page     {}\n", printable((plan.folder / kStudyPage).string()));
  fmt::print("study    {}\n", printable((plan.folder / kStudyStore).string()));
}

int run_study(const StudyRequest& request) {
  EvalConfig eval;
  const StudyPlan plan = read_study(request, [&](const Experiment& experiment) {
    check_model(experiment);
    check_device(experiment.train);
    eval = experiment.eval;
  });
  check_objectives(plan.objectives, eval);
  make_folders(plan.folder);
  const auto lock = claim_study(plan.folder);
  StudyStore store = open_study(plan);
  std::error_code error;
  fs::remove(plan.folder / kStopFile, error);  // meant for an earlier one
  catch_signals();
  Wishes wishes(plan.folder);
  const std::unique_ptr<Executor> executor = make_executor(plan.executor);
  const bool local = std::holds_alternative<LocalOptions>(plan.executor);
  const auto limit = local ? std::nullopt : std::optional(places_elsewhere(*executor, plan));
  StudyScreen screen;
  StudyPageWriter page(store, plan.folder);
  Controller controller(plan, store, *executor,
                        {.machine = local ? this_machine(plan) : Machine{},
                         .earlier = earlier_trials_of(plan),
                         .executor_limit = limit,
                         .wish = [&] { return wishes(); },
                         .show =
                             [&](const StudyView& view) {
                               screen.show(view);
                               page.write_when_due();
                             },
                         .chatty = !ProgressBar::on_terminal()});
  const StudyEnd end = controller.run();
  fs::remove(plan.folder / kStopFile, error);
  page.write(/*running=*/!end.complete);
  print_result(store, plan, end);
  return end.complete ? 0 : terminated != 0 ? kTerminated : kInterrupted;
}

std::string settings_help() {
  StudySettings settings;
  std::string text =
      "A study's file has a `space:`, and may have config, set, points, search, scheduler, executor, prices and\n";
  for (const SchemaLine& line : ConfigWriter::lines(settings)) {
    if (line.is_group) continue;
    text += fmt::format("  {}: {}\n      {} ({}{})\n", line.key, line.value, line.help, line.type,
                        line.range.empty() ? "" : ", " + line.range);
  }
  return text + "docs/studies.md has examples.";
}

}  // namespace

void add_tune(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command = app.add_subcommand("tune", "find the best settings: many trainings as one study");
  command
      ->add_option("words", arguments->words,
                   "a study's file or folder; or a config and --vary. Then values of the config: optimizer.lr=0.02")
      ->option_text("FILE key=value ...");
  command
      ->add_option("--vary", arguments->vary,
                   "what to vary, once or more: optimizer.lr=log:1e-4:1e-1, model.name=unet,fcn_r50, train.seed=grid:1,2,3")
      ->option_text("KEY=VALUES")
      ->allow_extra_args(false);
  command->add_option("--trials", arguments->trials, "how many trials at most")->check(above_zero());
  command->add_option("--time", arguments->time, "how long at most: 90min, 8h, 2d");
  command->add_option("--prices", arguments->prices, "file with what devices cost for an hour: docs/studies.md");
  command->add_option("--search", arguments->search, "random (default), grid, sobol, ...: docs/studies.md");
  command->add_option("--scheduler", arguments->scheduler,
                      "none (default), asha, hyperband, median, '{type: asha, grace: 2}', ...");
  command
      ->add_option("--objective", arguments->objectives, "mean_iou (default), 'minimize seconds', ...; several: a Pareto front")
      ->allow_extra_args(false);
  command->add_option("--at-once", arguments->at_once, "trials at the same time; default: what the machine has room for")
      ->check(above_zero());
  command->add_option("--seed", arguments->seed, "of the search");
  command->add_option("--name", arguments->name, "of the study; default: the file's name");
  command->add_option("--folder", arguments->folder, "where it lies; default: studies/NAME");
  command->add_option("--set", arguments->settings, "any other value of a study's file: budget.patience=20")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  command->require_subcommand(0, 1);
  command->footer([] { return settings_help(); });
  add_tune_lr(*command, exit_code);
  add_tune_results(*command);
  command->callback([command, arguments, &exit_code] {
    if (command->get_subcommands().empty()) exit_code = run_study(arguments->request());
  });
}

}  // namespace tessera
