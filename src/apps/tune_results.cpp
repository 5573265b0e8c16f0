#include <cmath>

#include "apps/command.h"
#include "apps/study_folder.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/progress_bar.h"
#include "study/controller/trial_run.h"
#include "study/schedule/copies.h"

// What `tessera tune` has found, and how it stands.
namespace tessera {
namespace {

const char* state_text(TrialState state) {
  switch (state) {
    case TrialState::kWaiting: return "waiting";
    case TrialState::kRunning: return "running";
    case TrialState::kPaused: return "paused";
    case TrialState::kComplete: return "complete";
    case TrialState::kStopped: return "stopped";
    case TrialState::kFailed: break;
  }
  return "failed";
}

std::string value_text(const Trial& trial) {
  if (!trial.values.empty()) return fmt::format("{:.6g}", trial.values[0]);
  return trial.reports.empty() ? "" : fmt::format("({:.6g})", trial.reports.back().value);
}

void print_best(const std::string& given, const std::string& run) {
  const fs::path folder = find_study(given);
  const StudyStore store = StudyStore::open(folder / kStudyStore);
  const std::optional<Trial> best = best_trial(store);
  TSR_CHECK(best.has_value(), "no trial of the study in {} is complete yet", printable(folder.string()));
  log_info("trial {}: {} {:.6g}; {}", best->number, store.info().objectives.at(0).metric, best->values[0],
           store.space().text(current_parameters(*best)));
  const std::string name = run.empty() ? fmt::format("runs/{}-best", store.info().name) : run;
  for (const std::string& command : training_commands(store, folder, best->number, name)) fmt::print("{}\n", command);
}

void print_status(const std::string& given) {
  const fs::path folder = find_study(given);
  const StudyStore store = StudyStore::open(folder / kStudyStore);
  const std::string metric = store.info().objectives.at(0).metric;
  fmt::print("{:>6}  {:<8}  {:>12}  {:>8}  {:>8}  parameters\n", "trial", "state", metric, "step", "time");
  for (const Trial& trial : store.load()) {
    const double seconds = trial_run_of(trial.attributes).seconds;
    const std::string step = trial.reports.empty() ? "" : std::to_string(trial.reports.back().step);
    fmt::print("{:>6}  {:<8}  {:>12}  {:>8}  {:>8}  {}{}\n", trial.number, state_text(trial.state), value_text(trial), step,
               format_seconds(seconds), printable(store.space().text(current_parameters(trial))),
               trial.reason.empty() ? "" : "  # " + printable(trial.reason));
  }
  if (const auto end = store.info().attributes.find("end"); end != store.info().attributes.end() && end->is_string())
    log_info("{}", end->get<std::string>());
}

void ask_to_stop(const std::string& given) {
  const fs::path folder = find_study(given);
  write_file(folder / "stop", std::string_view("asked for by tessera tune stop\n"));
  log_info("whoever runs the study in {} stops its trials, which save first; the command that began it goes on later",
           printable(folder.string()));
}

}  // namespace

void add_tune_results(CLI::App& tune) {
  auto study = std::make_shared<std::string>(), run = std::make_shared<std::string>();
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = tune.add_subcommand(name, help);
    command->add_option("study", *study, "the study's folder, or its name below studies/")->required();
    return command;
  };
  CLI::App* best = add("best", "print the command that trains the best trial's settings");
  best->add_option("--run-dir", *run, "folder of that run; default: runs/NAME-best");
  best->callback([=] { print_best(*study, *run); });
  add("status", "list the trials of a study, also while it runs")->callback([=] { print_status(*study); });
  add("report", "make study.html of a study anew")->callback([=] {
    const fs::path folder = find_study(*study);
    write_study_page(StudyStore::open(folder / kStudyStore), folder, /*running=*/false);
    fmt::print("{}\n", printable((folder / kStudyPage).string()));
  });
  add("stop", "have whoever runs a study stop its trials, which save first")->callback([=] { ask_to_stop(*study); });
}

}  // namespace tessera
