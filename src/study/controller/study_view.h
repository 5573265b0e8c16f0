#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "study/schedule/scheduler.h"

namespace tessera {

// How many trials there are of each kind, and the best one.
struct StudyCounts {
  int64_t all = 0, running = 0, paused = 0, complete = 0, stopped = 0, failed = 0;
  int64_t best = -1;  // number of the trial with the best value of the first objective; -1: none has one
  double best_value = 0;
};

// What a study looks like just now, for people.
struct StudyView {
  struct Running {
    int64_t number = -1;
    std::string parameters = {};
    int64_t step = 0, until = kToTheEnd;  // in the study's unit
    double done = 0;                      // share of its whole training, 0..1
    std::optional<double> value = {};     // of the last report
    double seconds = 0;
    std::vector<int> gpus = {};
    bool waits = false;  // in a queue, or for room
  };
  std::string name = {}, unit = {}, metric = {}, best_parameters = {};
  StudyCounts counts = {};
  std::vector<Running> running = {};
  int64_t trials = 0;                    // of the budget; 0: no limit
  double seconds = 0, seconds_left = 0;  // left: 0 where there is no limit
  double cost = 0, cost_left = 0;
  std::string currency = {};  // empty: no prices
  int at_once = 0;
};

}  // namespace tessera
