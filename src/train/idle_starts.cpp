#include "train/idle_starts.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "infer/rank_consensus.h"

namespace tessera {

bool last_start_was_idle(const std::filesystem::path& log) {
  std::ifstream lines(log);
  int64_t begin = -1;
  bool idle = false, evaluated = false;
  for (std::string text; std::getline(lines, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object()) continue;  // of a process that was killed as it wrote
    const std::string type = line.value("type", "");
    if (type == "start" || type == "resume") {
      begin = line.value("step", int64_t{0});
      idle = evaluated = false;
    } else if (type == "eval") {
      evaluated = true;
    } else if (type == "end") {
      const std::string status = line.value("status", "");
      idle = (status == "out of time" || status == "stopped") && !evaluated && line.value("step", int64_t{-1}) == begin;
    }
  }
  return idle;
}

IdleStarts::IdleStarts(const std::filesystem::path& log, const TrainState& state, World& world)
    : world_(world),
      step_(state.step),
      evaluated_step_(state.evaluated_step),
      before_(world.is_first() && last_start_was_idle(log)) {}

void IdleStarts::refuse(const TrainState& now) const {
  if (now.step != step_ || now.evaluated_step != evaluated_step_ || max_over_ranks(world_, before_ ? 1 : 0) == 0) return;
  fail(
      "out of time at step {} before anything was done, as was the start before this one, and so it would be for ever. Give it "
      "more time (--time-limit; Slurm's --time and the seconds of --signal), or let an evaluation that is due take less of it "
      "(eval.window, eval.scales, fewer images)",
      now.step);
}

}  // namespace tessera
