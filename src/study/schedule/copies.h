#pragma once
#include <vector>

#include "study/trial.h"

namespace tessera {

// A place in a trial's training where it took the checkpoint of another one and went on with other parameters.
struct Copy {
  int64_t step = 0;
  int64_t from = -1;
  Assignment parameters = {};
  bool operator==(const Copy&) const = default;
};

// Copies are kept in the trial's attributes, so that they are in the study's store: the parameters that a trial began with
// never change.
void add_copy(Trial& trial, const Copy& copy);
std::vector<Copy> copies_of(const Trial& trial);  // steps ascending

// What the trial is trained with now.
Assignment current_parameters(const Trial& trial);

// One stretch of the training that led to a result: up to `until`, with these parameters, done by this trial.
struct Stretch {
  int64_t until = 0;
  int64_t trial = -1;
  Assignment parameters = {};
  bool operator==(const Stretch&) const = default;
};

// How the weights came about that a trial has at its last report: from the first step, through every checkpoint that was
// copied. Trained once more in one run, with these parameters in turn, it gives them again. `trials`: in order of numbers, from
// 0 on.
std::vector<Stretch> history_of(const std::vector<Trial>& trials, int64_t number);

}  // namespace tessera
