#pragma once

namespace tessera {

// What a step does to the average of the weights.
struct AverageStep {
  bool runs = false;  // the average exists; at the first such step it begins as a copy of the weights before that step
  double weight = 0;  // of the new parameters in the average after the step; 0: no update is due
};

}  // namespace tessera
