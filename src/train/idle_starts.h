#pragma once
#include <cstdint>
#include <filesystem>

#include "dist/world.h"
#include "infer/checkpoint/checkpoint.h"

namespace tessera {

// Whether the last start of a run, as its log.jsonl tells, was stopped before it had made a step or an evaluation. False where
// there is no log.
bool last_start_was_idle(const std::filesystem::path& log);

// Ends a run that would be started again and again and never have the time for anything.
class IdleStarts {
 public:
  // At the beginning of a start from `state`, before it writes to the log.
  IdleStarts(const std::filesystem::path& log, const TrainState& state, World& world);

  // When this start's time is up: throws Error where neither it nor the one before it did anything. Collective.
  void refuse(const TrainState& now) const;

 private:
  World& world_;
  int64_t step_, evaluated_step_;
  bool before_;  // on the first rank
};

}  // namespace tessera
