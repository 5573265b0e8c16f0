#pragma once
#include <cstdint>

#include "config/micro_batch.h"

namespace tessera {

// How many samples go through the model at a time: whole units, as many as fit. What fits is found by trying, because nothing
// else knows what a device's libraries will ask for: half of what was too much, and with train.micro_batch=auto from then on,
// every some steps, the middle between what fits and what did not, until there is nothing between; then, at times, one unit
// more, since what other programs had taken may be free again. A try that fails costs one pass that is done again.
class PassSize {
 public:
  PassSize(const MicroBatch& asked, int64_t unit) : automatic_(asked.automatic), unit_(unit), samples_(asked.samples) {}

  int64_t samples() const { return samples_; }  // at most, 0: no limit

  // A pass of `largest` samples did not fit. False where that was one unit.
  bool shrink(int64_t largest);

  // A step fitted; at times the next one is to try more.
  void fitted();

 private:
  bool automatic_;
  int64_t unit_, samples_;
  int64_t fits_ = 0, too_many_ = 0;  // units: known to fit, known not to; 0: not known
  int64_t steps_ = 0;                // that fitted, since the last change
};

}  // namespace tessera
