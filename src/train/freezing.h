#pragma once
#include <string>
#include <vector>

#include "config/experiment.h"
#include "config/frozen_part.h"
#include "core/progress.h"
#include "nn/model.h"
#include "train/arena.h"

namespace tessera {

// Note [Parts at rest]
// model.freeze with a time ("backbone until 5ep") and train.layer_freezing leave parts of a model untrained for a part of the
// run. While a part rests its weights stay to the bit, no gradient is computed for it, its batch norms use and keep their
// running statistics (as with model.freeze), and the optimizer holds no state of it. It stays in the arena: checkpoints,
// averages, and slices of ranks are laid out as ever. Which parts rest is a function of the step alone.
//
// train.layer_freezing is Composer's LayerFreezing, by segments with weights in place of single layers: at the beginning of an
// epoch at a share t of the run, floor(level * (t - start) / (1 - start) * (segments - 1)) of them rest, the first ones.
class Freezing {
 public:
  // `model` and `arena` must outlive it.
  Freezing(const Experiment& experiment, SegmentationModel& model, Arena& arena);

  // Makes the parts rest that the step at `at` leaves alone, and no others; then arena.spans() say so. False: nothing changed.
  // Throws UsageError where nothing is left to train.
  bool begin(const Progress& at);

 private:
  struct Entry {
    FrozenPart part;
    std::vector<size_t> spans;  // of the arena
  };

  std::vector<size_t> spans_of(const std::string& part);
  int64_t resting_segments(const Progress& at) const;

  LayerFreezingConfig config_;
  SegmentationModel& model_;
  Arena& arena_;
  std::vector<Entry> entries_;   // of model.freeze, those with a time
  std::vector<Entry> segments_;  // with weights that are trained, in order; none where train.layer_freezing is off
  bool begun_ = false;
};

}  // namespace tessera
