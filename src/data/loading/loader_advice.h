#pragma once
#include <string>

#include "data/loading/stage_times.h"

namespace tessera {

// Below this share of a step's time, waiting for data is not worth a word.
inline constexpr double kWaitWorthSaying = 0.1;

struct LoaderLoad {
  StageTimes times;
  double wait_share = 0;  // of the training's time that it waited for data, 0..1
  int threads = 1;        // that load
  int cpus = 1;           // that this rank may use
};

// What limits a loader that training waits for, and what to set. Empty where it waits too little, or nothing was measured.
std::string loader_advice(const LoaderLoad& load);

}  // namespace tessera
