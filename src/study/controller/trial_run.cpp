#include "study/controller/trial_run.h"

namespace tessera {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TrialRun, folder, job, until, from, gpus, cores, idle, alone, started, seconds,
                                                cost, failures, progress, ending, reason)

nlohmann::json to_json_value(const TrialRun& run) {
  return run;
}

TrialRun trial_run_of(const nlohmann::json& attributes) {
  return attributes.contains("run") ? attributes.at("run").get<TrialRun>() : TrialRun{};
}

}  // namespace tessera
