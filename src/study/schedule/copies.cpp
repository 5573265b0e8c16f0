#include "study/schedule/copies.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

constexpr const char* kCopies = "copies";

// The stretches of a trial up to a step, the last one first.
void add_backwards(const std::vector<Trial>& trials, int64_t number, int64_t until, std::vector<Stretch>& stretches) {
  TSR_CHECK(number >= 0 && number < static_cast<int64_t>(trials.size()),
            "trial {} was copied, but the study has trials 0 to {} only", number, trials.size() - 1);
  const Trial& trial = trials[static_cast<size_t>(number)];
  std::vector<Copy> copies = copies_of(trial);
  // What it took at the step itself came after the checkpoint that others have of this step.
  std::erase_if(copies, [&](const Copy& copy) { return copy.step >= until; });
  stretches.push_back({until, number, copies.empty() ? trial.parameters : copies.back().parameters});
  if (!copies.empty()) add_backwards(trials, copies.back().from, copies.back().step, stretches);
}

}  // namespace

void add_copy(Trial& trial, const Copy& copy) {
  trial.attributes[kCopies].push_back({{"step", copy.step}, {"from", copy.from}, {"parameters", copy.parameters}});
}

std::vector<Copy> copies_of(const Trial& trial) {
  std::vector<Copy> copies;
  if (!trial.attributes.contains(kCopies)) return copies;
  for (const nlohmann::json& copy : trial.attributes.at(kCopies))
    copies.push_back({copy.at("step"), copy.at("from"), copy.at("parameters").get<Assignment>()});
  return copies;
}

Assignment current_parameters(const Trial& trial) {
  const std::vector<Copy> copies = copies_of(trial);
  return copies.empty() ? trial.parameters : copies.back().parameters;
}

std::vector<Stretch> history_of(const std::vector<Trial>& trials, int64_t number) {
  std::vector<Stretch> stretches;
  const Trial& trial = trials.at(static_cast<size_t>(number));
  add_backwards(trials, number, trial.reports.empty() ? 0 : trial.reports.back().step, stretches);
  std::reverse(stretches.begin(), stretches.end());
  return stretches;
}

}  // namespace tessera
