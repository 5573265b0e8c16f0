#include "apps/study_folder.h"

#include <fmt/ranges.h>

#include <cmath>

#include "apps/train_command.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/suggest.h"
#include "nn/model.h"
#include "study/page/study_page.h"
#include "study/scale/scale_state.h"
#include "study/schedule/copies.h"
#include "study/schedule/schedule_context.h"
#include "study/search/earlier_trials.h"
#include "study/store/database.h"

namespace tessera {
namespace {

constexpr const char* kDefinition = "definition";

// Which parts of the study are not as they were.
std::vector<std::string> changes(const nlohmann::json& was, const nlohmann::json& is) {
  std::vector<std::string> names;
  for (const auto& [name, value] : is.items()) {
    if (!was.contains(name) || was.at(name) != value) names.push_back(name);
  }
  return names;
}

// Copies of earlier studies as they are now: a later start must not learn from what came after.
fs::path copy_of_earlier(const StudyPlan& plan, size_t place) {
  return plan.folder / fmt::format("earlier-{}.sqlite", place + 1);
}

void copy_earlier(const StudyPlan& plan) {
  for (size_t i = 0; i < plan.earlier.size(); ++i) {
    const fs::path copy = copy_of_earlier(plan, i);
    fs::remove(copy);
    const fs::path& given = plan.earlier[i];  // a folder, or a database that Optuna made
    const fs::path file = fs::is_regular_file(given) ? given : find_study(given.string()) / kStudyStore;
    Database source(file, Database::Mode::kExisting);
    Statement(source, "VACUUM INTO ?").bind(copy.string()).run();
  }
}

}  // namespace

std::unique_ptr<FileLock> claim_study(const fs::path& folder) {
  auto lock = std::make_unique<FileLock>(folder / "lock", "the study's folder must be writable");
  TSR_CHECK(lock->try_lock(), "the study in {} is being run by {}", printable(folder.string()), lock->holder());
  return lock;
}

void check_model(const Experiment& experiment) {
  const std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), experiment.model.name) == names.end())
    fail_usage("model.name: there is no model '{}'{}", experiment.model.name, did_you_mean(experiment.model.name, names));
}

void refuse_other_study(const fs::path& folder, const char* file, const char* command) {
  std::error_code error;
  if (!fs::exists(folder / file, error)) return;
  fail_usage("{} holds a study of `{}` ({}); give this one another name (--name) or folder (--folder)",
             printable(folder.string()), command, file);
}

StudyStore open_study(const StudyPlan& plan) {
  refuse_other_study(plan.folder, kScaleState, "tessera scale");
  const fs::path file = plan.folder / kStudyStore;
  // Where there are jobs there was a study, and a file without one has lost it.
  if (fs::exists(file) && (StudyStore::is_begun(file) || fs::exists(plan.folder / "jobs"))) {
    StudyStore store = StudyStore::open(file);
    const nlohmann::json was = store.info().attributes.value(kDefinition, nlohmann::json::object());
    const std::vector<std::string> different = changes(was, plan.definition);
    if (!different.empty())
      fail_usage(
          "the study in {} was begun with other settings ({}); give this one another name (--name) or folder, or say what it "
          "was begun with. Budgets, resources, prices and where trials run may change",
          printable(plan.folder.string()), fmt::join(different, ", "));
    return store;
  }
  write_file(plan.folder / kStudyConfig,
             "# Of every trial of the study, which sets its parameters over it.\n" + plan.config_text);
  write_file(plan.folder / kStudyFile,
             "# The study as it was asked for: `tessera tune` with this file or its folder goes on.\n" + plan.text);
  copy_earlier(plan);
  return StudyStore::create(file, {plan.settings.name, plan.objectives, {{kDefinition, plan.definition}}}, plan.space);
}

fs::path find_study(const std::string& given) {
  const fs::path path(given);
  for (const fs::path& folder : {path, path.parent_path(), fs::path("studies") / path}) {
    std::error_code error;
    if (fs::exists(folder / kStudyStore, error)) return folder;
  }
  fail_usage("there is no study in {}: expected a folder with {}", printable(given), kStudyStore);
}

fs::path study_file_of(const fs::path& given) {
  std::error_code error;
  return fs::is_directory(given, error) && fs::exists(given / kStudyFile, error) ? given / kStudyFile : given;
}

std::vector<Trial> earlier_trials_of(const StudyPlan& plan) {
  std::vector<Trial> all;
  for (size_t i = 0; i < plan.earlier.size(); ++i) {
    const StudyStore store = StudyStore::open(copy_of_earlier(plan, i));
    EarlierTrials found =
        earlier_trials({store.info().name, store.space(), store.info().objectives, store.load()}, plan.space, plan.objectives);
    for (const std::string& note : found.notes) log_info("{}", note);
    all.insert(all.end(), std::make_move_iterator(found.trials.begin()), std::make_move_iterator(found.trials.end()));
  }
  // Of several studies together: -n to -1.
  for (size_t i = 0; i < all.size(); ++i) all[i].number = static_cast<int64_t>(i) - static_cast<int64_t>(all.size());
  return all;
}

std::optional<Trial> best_trial(const StudyStore& store) {
  const Direction direction = store.info().objectives.at(0).direction;
  std::optional<Trial> best;
  for (Trial& trial : store.load()) {
    if (trial.values.empty() || std::isnan(trial.values[0])) continue;
    if (!best || score_of(trial.values[0], direction) > score_of(best->values[0], direction)) best = std::move(trial);
  }
  return best;
}

std::vector<std::string> training_commands(const StudyStore& store, const fs::path& folder, int64_t number,
                                           const std::string& run) {
  const std::vector<Stretch> stretches = history_of(store.load(), number);
  const nlohmann::json definition = store.info().attributes.value(kDefinition, nlohmann::json::object());
  const char* unit = definition.value("unit", "epochs") == "epochs" ? "ep" : "ba";
  std::vector<std::string> commands;
  for (size_t i = 0; i < stretches.size(); ++i) {
    const bool last = i + 1 == stretches.size();
    std::vector<std::string> words = store.space().overrides(stretches[i].parameters);
    words.push_back("run.dir=" + run + (last ? "" : fmt::format("-{}", i + 1)));
    std::string command = train_command("tessera", (folder / kStudyConfig).string(), {}, words);
    if (i > 0) command += " --from " + shell_word(fmt::format("{}-{}", run, i));
    if (!last) command += fmt::format(" --stop-at {}{}", stretches[i].until, unit);
    commands.push_back(command);
  }
  return commands;
}

void write_study_page(const StudyStore& store, const fs::path& folder, bool running) {
  StudyPageInput page{.info = store.info(), .space = store.space(), .trials = store.load(), .running = running};
  const nlohmann::json definition = page.info.attributes.value(kDefinition, nlohmann::json::object());
  page.unit = definition.value("unit", "epochs") == "epochs" ? "ep" : "ba";
  const nlohmann::json end = page.info.attributes.value("end", nlohmann::json());
  if (!running && end.is_string()) page.status = end.get<std::string>();
  if (const std::optional<Trial> best = best_trial(store))
    page.best_commands = training_commands(store, folder, best->number, fmt::format("runs/{}-best", page.info.name));
  write_file(folder / kStudyPage, render_study_page(page));
}

}  // namespace tessera
