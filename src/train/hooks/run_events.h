#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "core/access.h"
#include "core/image.h"
#include "core/progress.h"

namespace tessera {

// What a run is, said once before its first step.
struct RunInfo {
  const Experiment& experiment;
  std::filesystem::path folder;
  Progress progress;      // step > 0 when resumed or gone on from another run
  int64_t last_step = 0;  // where this call ends: progress.total, or before it where RunOptions::stop_at says so
  bool resumed = false;
  nlohmann::json came_from = {};  // what a new run goes on from: RunOrigin; else null
  int64_t num_parameters = 0;
  int64_t num_train = 0, num_val = 0;
  std::string device;
  ClassTable classes;
  Access access = Access::kPrivate;  // of what is written to the folder
};

// What is logged of a step, and of the steps since the line before it.
struct LogLine {
  int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  double images_per_s = 0;
  double data_wait = 0;  // share of the time, 0..1
  double memory_mb = 0;
  double exchange_ms = 0, exchange_wait_ms = 0;  // of this step: gradients under way, and waited for; 0: alone, or on GPUs
  int64_t skipped_steps = 0;                     // of the run so far: whose gradients were not finite; fp16: or overflowed
};

// What a guard saw, and did about it.
struct GuardEvent {
  int64_t step = 0;         // counted from 1, as log lines count
  std::string action = {};  // "left out", "gone back", "stopped"; "spike": nothing
  std::string text = {};    // all of it, for people
  std::string place = {};
  std::vector<std::string> samples = {};
  double loss = 0, grad_norm = 0;
  int64_t back_to = -1;    // gone back: the last step that counts
  int64_t steps_lost = 0;  // of the run so far: left out, or gone back from
};

}  // namespace tessera
