#include "study/scale/scale_state.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/printable.h"

namespace tessera {
namespace {

using nlohmann::json;

template <class Names>
size_t index_of(const Names& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  TSR_CHECK(found != names.end(), "'{}' is not known; expected one of {}", name, fmt::join(names, ", "));
  return static_cast<size_t>(found - names.begin());
}

json to_json(const ScaleTrial& trial) {
  return {{"name", cell_name(trial.cell)},
          {"model", trial.cell.model},
          {"mode", name_of(trial.cell.mode)},
          {"ranks", trial.cell.ranks},
          {"repeat", trial.cell.repeat},
          {"arguments", trial.arguments},
          {"state", name_of(trial.state)},
          {"attempt", trial.attempt},
          {"fruitless", trial.fruitless},
          {"step", trial.step},
          {"reason", trial.reason}};
}

ScaleTrial from_json(const json& saved) {
  ScaleTrial trial;
  trial.cell.model = saved.at("model").get<std::string>();
  trial.cell.mode = static_cast<ParallelMode>(index_of(EnumNames<ParallelMode>::names, saved.at("mode").get<std::string>()));
  trial.cell.ranks = saved.at("ranks").get<int64_t>();
  trial.cell.repeat = saved.at("repeat").get<int64_t>();
  trial.arguments = saved.at("arguments").get<std::vector<std::string>>();
  trial.state = static_cast<TrialState>(index_of(EnumNames<TrialState>::names, saved.at("state").get<std::string>()));
  trial.attempt = saved.at("attempt").get<int64_t>();
  trial.fruitless = saved.at("fruitless").get<int64_t>();
  trial.step = saved.at("step").get<int64_t>();
  trial.reason = saved.at("reason").get<std::string>();
  return trial;
}

}  // namespace

ScaleState::ScaleState(fs::path file) : file_(std::move(file)) {
  std::error_code error;
  if (!fs::exists(file_, error)) return;
  try {
    const json saved_state = json::parse(read_text(file_));
    for (const json& saved : saved_state.at("trials")) trials_.push_back(from_json(saved));
  } catch (const json::exception& e) {
    fail("{} is damaged ({}); move it away to begin the study anew: finished trainings are found again by their folders",
         printable(file_.string()), e.what());
  }
}

void ScaleState::take(const std::vector<ScaleTrial>& asked) {
  std::erase_if(trials_, [&](const ScaleTrial& known) {
    return known.attempt == 0 &&
           std::none_of(asked.begin(), asked.end(), [&](const auto& trial) { return trial.cell == known.cell; });
  });
  for (const ScaleTrial& trial : asked) {
    const auto known =
        std::find_if(trials_.begin(), trials_.end(), [&](const ScaleTrial& other) { return other.cell == trial.cell; });
    if (known == trials_.end()) {
      trials_.push_back(trial);
    } else if (known->arguments != trial.arguments) {
      TSR_CHECK_USAGE(known->attempt == 0,
                      "{} was begun with other settings: {}; they are now {}. Expected the same, or another --name",
                      cell_name(trial.cell), fmt::join(known->arguments, " "), fmt::join(trial.arguments, " "));
      *known = trial;
    }
  }
}

void ScaleState::forgive() {
  for (ScaleTrial& trial : trials_) {
    if (trial.state != TrialState::kFailed) continue;
    trial.state = TrialState::kWaiting;
    trial.fruitless = 0;
  }
}

void ScaleState::save() const {
  json all = json::array();
  for (const ScaleTrial& trial : trials_) all.push_back(to_json(trial));
  write_file(file_, json_text({{"trials", all}}, 1) + "\n");
}

}  // namespace tessera
