#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study/scale/scale_cells.h"
#include "study/trial.h"

namespace tessera {

// A training of the study and what has become of it.
struct ScaleTrial {
  ScaleCell cell = {};
  std::vector<std::string> arguments = {};  // of this program
  TrialState state = TrialState::kWaiting;
  int64_t attempt = 0;    // jobs that were started for it
  int64_t fruitless = 0;  // of them in a row without a new checkpoint
  int64_t step = -1;      // of its newest checkpoint when a job ended
  std::string reason = {};
};

inline constexpr const char* kScaleState = "study.json";

// The state of a study, kScaleState in its folder, which is written whole and at once whenever a trial changes. A controller
// that is killed and started again reads it and goes on.
class ScaleState {
 public:
  explicit ScaleState(std::filesystem::path file);

  // Takes the trainings that are asked for: those that are known keep their state, new ones wait. Throws UsageError where one
  // was begun with other arguments. Those no longer asked for go if they were never begun, and are followed to their end else.
  void take(const std::vector<ScaleTrial>& asked);

  // Those that failed wait again.
  void forgive();

  std::vector<ScaleTrial>& trials() { return trials_; }
  const std::vector<ScaleTrial>& trials() const { return trials_; }
  void save() const;

 private:
  std::filesystem::path file_;
  std::vector<ScaleTrial> trials_;
};

}  // namespace tessera
