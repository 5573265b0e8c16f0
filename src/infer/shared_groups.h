#pragma once
#include <optional>
#include <vector>

#include "dist/world.h"
#include "infer/eval_groups.h"
#include "infer/shared_images.h"

namespace tessera {

// The groups of an evaluation that all ranks compute together: those of a round of blocks that does not reach all ranks. See
// Note [Images and ranks].
class SharedGroups {
 public:
  // block: images that may share a forward pass. world, predictor: must outlive this.
  SharedGroups(World& world, const Predictor& predictor, int64_t num_samples, int64_t block);

  // Keeps a group of this rank for later if all ranks are to compute it; else leaves it as it is and returns false.
  bool takes(EvalGroup& group);

  // A group of one rank, on all of them.
  struct Turn {
    ImageGroup images;
    WindowTeam team;                // led by the rank whose group it is
    std::vector<EvalTruth> truths;  // on that rank; elsewhere empty

    bool has_part() const { return images.pixels.defined(); }  // for this rank to do
  };

  // The groups that all ranks have kept, one after another; nothing at the end. Collective. All ranks throw PredictionStopped
  // where the predictor of one of them is asked to stop.
  std::optional<Turn> next();

 private:
  World& world_;
  const Predictor& predictor_;
  int64_t block_;
  SharedImages images_;
  std::vector<std::vector<EvalTruth>> truths_;  // of this rank's groups
};

}  // namespace tessera
