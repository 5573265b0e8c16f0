#pragma once
#include <string>
#include <vector>

#include "config/schema.h"

namespace tessera {

// What a study's file says besides the sections that have readers of their own: config, set, space, points, search, scheduler,
// executor and prices (study_plan.h).

struct BudgetSettings {
  int64_t trials = 0;
  std::string time;
  double cost = 0;
  int64_t patience = 0;
};
template <class V>
void describe(V& v, BudgetSettings& c) {
  v.field("trials", c.trials, "how many trials at most; 0: until the search has no more", at_least(0));
  v.field("time", c.time, "how long the study may be at work, as 90min, 8h or 2d; empty: without end");
  v.field("cost", c.cost, "what the trials may cost in all, by `prices`; 0: without limit", at_least(0));
  v.field("patience", c.patience, "no new trials once so many have ended after the best one; 0: never", at_least(0));
}

struct ResourceSettings {
  int64_t at_once = 0;
  int64_t ranks = 1;
  int64_t cores = 0;
  int64_t per_gpu = 0;
};
template <class V>
void describe(V& v, ResourceSettings& c) {
  v.field("at_once", c.at_once,
          "trials that run at the same time; 0: GPUs x what fits into their memory, or without GPUs as many as there are cores "
          "and memory for",
          at_least(0));
  v.field("ranks", c.ranks, "ranks of each trial, on as many GPUs; the result does not depend on it", between(1, 1024));
  v.field("cores", c.cores,
          "CPU cores of each trial; 0: those of the machine divided among the trials, four at least where it has so many",
          at_least(0));
  v.field("per_gpu", c.per_gpu, "trials that share a GPU; 0: what fits, by the memory that the first trials needed, at most 4",
          at_least(0));
}

enum class StepUnit { kAuto, kEpochs, kSteps };
template <>
struct EnumNames<StepUnit> {
  static constexpr std::array<std::string_view, 3> names = {"auto", "epochs", "steps"};
};

enum class TrialValue { kBest, kLast };
template <>
struct EnumNames<TrialValue> {
  static constexpr std::array<std::string_view, 2> names = {"best", "last"};
};

struct StudySettings {
  std::string name;
  std::string folder;
  std::vector<std::string> objectives = {"mean_iou"};
  TrialValue value = TrialValue::kBest;
  StepUnit unit = StepUnit::kAuto;
  uint64_t seed = 0;
  std::vector<std::string> earlier = {};
  int64_t retries = 2;
  BudgetSettings budget;
  ResourceSettings resources;
};
template <class V>
void describe(V& v, StudySettings& c) {
  v.field("name", c.name, "default: the file's name");
  v.field("folder", c.folder, "where the study and its trials lie; default: studies/<name>");
  v.field("objectives", c.objectives,
          "what is looked for: metrics of the evaluations (mean_iou, iou/NAME, ...) or of the training (parameters, "
          "images_per_s, memory_mb, seconds), largest unless 'minimize' is said: [mean_iou, minimize seconds]. Schedulers and "
          "`best` go by the first one");
  v.field("value", c.value, "a trial's value: that of its best evaluation, or of its last");
  v.field("unit", c.unit, "what schedulers count: epochs or optimizer steps; auto: the unit of train.duration");
  v.field("seed", c.seed, "of the search and the scheduler; the trainings have train.seed");
  v.field(
      "earlier", c.earlier,
      "studies whose trials tpe and cma learn from, by folder or database, as they are when this one begins; what is not of "
      "the space is left out");
  v.field("retries", c.retries, "how often a trial goes on that was killed, crashed or had too little memory beside others",
          at_least(0));
  v.group("budget", c.budget, "when the study ends");
  v.group("resources", c.resources, "what the trials run on");
}

}  // namespace tessera
