#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace tessera {

// A point of a Space: for each parameter that is in use its number as Optuna's database has it, which is the value itself, or
// the index of a choice. Space turns it into what a config says.
using Assignment = std::map<std::string, double>;

enum class Direction { kMinimize, kMaximize };

// One of the things that a study is about: a metric of a run's reports by its name, as "miou".
struct Objective {
  std::string metric;
  Direction direction = Direction::kMaximize;
};

// waiting -> running -> complete, stopped (by the scheduler: it was not good enough) or failed. A paused trial is one that the
// scheduler may let go on.
enum class TrialState { kWaiting, kRunning, kPaused, kComplete, kStopped, kFailed };
template <>
struct EnumNames<TrialState> {
  static constexpr std::array<std::string_view, 6> names = {"waiting", "running", "paused", "complete", "stopped", "failed"};
};

constexpr bool is_finished(TrialState state) {
  return state == TrialState::kComplete || state == TrialState::kStopped || state == TrialState::kFailed;
}

// What a trial had reached at a step, in the first objective.
struct Report {
  int64_t step = 0;
  double value = 0;
  bool operator==(const Report&) const = default;
};

// One training of a study. Everything that is known of it is here and in the study's store, so that a controller which is
// started again goes on with nothing else.
struct Trial {
  int64_t number = -1;  // 0, 1, ... in the order of suggestions; below 0: of an earlier study, that only searchers look at
  TrialState state = TrialState::kWaiting;
  Assignment parameters = {};
  std::vector<Report> reports = {};                      // steps ascending
  std::vector<double> values = {};                       // one per objective once it is complete; empty before
  std::string reason = {};                               // why it failed or was stopped; empty otherwise
  nlohmann::json attributes = nlohmann::json::object();  // run folder, seconds, cost, the executor's handle, ...
  bool operator==(const Trial&) const = default;
};

}  // namespace tessera
