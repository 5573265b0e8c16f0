#include "study/scale/scale_study.h"

#include <algorithm>

#include "config/builtin_configs.h"
#include "config/reader.h"
#include "core/error.h"
#include "core/files.h"
#include "study/scale/follow_trials.h"

namespace tessera {
namespace {

// A path in a study's file is relative to it; a name that is no file there is one of a built-in config, or as it is.
std::string beside(const fs::path& file, const std::string& given) {
  std::error_code error;
  const fs::path path = file.parent_path() / given;
  return !given.empty() && fs::exists(path, error) ? fs::absolute(path).lexically_normal().string() : given;
}

}  // namespace

std::optional<ScaleFile> read_scale_file(const fs::path& file) {
  Node root = load_config(file);
  if (root.find("config") == nullptr) return std::nullopt;
  ScaleFile study;
  if (const Node* executor = root.find("executor")) study.executor = read_executor(*executor);
  if (const Node* prices = root.find("prices")) study.prices = read_prices(prices_section(*prices, file.parent_path()));
  std::erase_if(root.map, [](const auto& entry) { return entry.first == "executor" || entry.first == "prices"; });
  ConfigReader::read_struct(root, "", study.config);
  study.config.config = beside(file, study.config.config);
  if (study.config.name.empty()) study.config.name = file.stem().string();
  return study;
}

std::vector<PlannedTraining> plan_scale(const ScaleConfig& config, const fs::path& folder,
                                        const std::function<void(const Experiment&)>& check) {
  std::vector<PlannedTraining> planned;
  const ScaleFolders folders{folder};
  for (const ScaleCell& cell : scale_cells(config)) {
    std::vector<std::string> overrides = config.set;
    for (std::string& text : model_overrides(cell.model)) overrides.push_back(std::move(text));
    const Experiment base = load_experiment(config.config, overrides);
    overrides = cell_overrides(config, cell, base);
    overrides.push_back("run.dir=" + fs::absolute(folders.run(cell)).lexically_normal().string());
    const Experiment experiment = load_experiment(config.config, overrides);
    if (check) check(experiment);
    PlannedTraining& training = planned.emplace_back();
    training.batch_size = experiment.train.batch_size;
    training.trial.cell = cell;
    std::vector<std::string>& words = training.trial.arguments;
    words = {"train", config.config};
    words.insert(words.end(), overrides.begin(), overrides.end());
    words.insert(words.end(), {"--resume", "-p", std::string(name_of(cell.mode))});
    if (cell.mode != ParallelMode::kNone) words.insert(words.end(), {"--ranks", std::to_string(cell.ranks)});
  }
  return planned;
}

std::vector<ScaleOutcome> scale_outcomes(const std::vector<PlannedTraining>& planned, const ScaleState& state,
                                         const fs::path& folder) {
  std::vector<ScaleOutcome> outcomes;
  const ScaleFolders folders{folder};
  for (const PlannedTraining& training : planned) {
    const ScaleCell& cell = training.trial.cell;
    const auto known =
        std::find_if(state.trials().begin(), state.trials().end(), [&](const ScaleTrial& trial) { return trial.cell == cell; });
    ScaleOutcome& outcome = outcomes.emplace_back();
    outcome.cell = cell;
    outcome.batch_size = training.batch_size;
    outcome.run = folders.run(cell).string();
    if (known == state.trials().end()) continue;
    outcome.state = known->state;
    outcome.reason = known->reason;
    outcome.figures = run_figures(folders.run(cell), training.batch_size);
  }
  return outcomes;
}

}  // namespace tessera
