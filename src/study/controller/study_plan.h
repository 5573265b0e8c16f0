#pragma once
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "study/controller/study_settings.h"
#include "study/executor/make_executor.h"
#include "study/prices.h"
#include "study/schedule/scheduler_config.h"
#include "study/search/search_config.h"
#include "study/space/space.h"
#include "study/trial.h"

namespace tessera {

// Files of a study's folder.
inline constexpr const char* kStudyFile = "study.yaml";
inline constexpr const char* kStudyConfig = "config.yaml";  // of every trial, which adds its parameters
inline constexpr const char* kStudyStore = "study.sqlite";
inline constexpr const char* kStudyPage = "study.html";

// A study as it was asked for: read, typed and checked.
struct StudyPlan {
  StudySettings settings;        // name, folder and unit are known here
  std::filesystem::path folder;  // absolute
  std::string config_text;       // of every trial, as YAML, to which a trial adds its parameters
  Space space;
  std::vector<Assignment> points;  // to try first
  SearchConfig search;
  SchedulerConfig scheduler;
  ExecutorConfig executor;
  std::optional<Prices> prices;
  std::vector<Objective> objectives;
  std::vector<std::filesystem::path> earlier;  // studies whose trials the search learns from first
  std::string device;                          // train.device
  int64_t max_steps = 0;                       // of the training, in the study's unit; 0: not known
  double time_s = 0;                           // of the budget; 0: without end
  std::string text;           // study.yaml of its folder: everything that was found, to be read again by read_study
  nlohmann::json definition;  // what makes it this study: it may not change once trials have begun
};

// What a study may be made of on the command line, laid over its file or in place of one.
struct StudyRequest {
  std::filesystem::path file;          // a study's file (it has a `space:`), or the config to vary
  std::vector<std::string> overrides;  // of the config
  std::vector<std::string> vary;       // KEY=VALUES
  std::vector<std::string> settings;   // "budget.trials=20", "search=sobol", "scheduler={type: asha}"
};

// Reads, and checks everything that can be checked before a trial begins: every name and value of the space against the
// config's schema, objectives, budgets, search and scheduler. `also`: see check_space. Throws UsageError.
StudyPlan read_study(const StudyRequest& request, const std::function<void(const Experiment&)>& also = {});

// "maximize mean_iou", "minimize seconds", "mean_iou".
Objective parse_objective(const std::string& text);

}  // namespace tessera
