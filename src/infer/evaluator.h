#pragma once
#include <functional>
#include <vector>

#include "data/batch/quarantine.h"
#include "dist/world.h"
#include "infer/eval_counts.h"
#include "infer/eval_outcome.h"
#include "infer/eval_result.h"
#include "infer/eval_samples.h"
#include "infer/predictor.h"

namespace tessera {

// Measures a model on every sample of a data set exactly once. Bad samples are quarantined and left out, never replaced.
class Evaluator {
 public:
  // All that an evaluation needs besides the model follows from the experiment: the transforms (those of validation, also for
  // training images; those of test for a test set), how many samples may be bad, how many threads load. Of several ranks each
  // takes every size-th block of images: which images share a forward pass does not depend on the number of ranks. See Note
  // [Images and ranks]. world: must outlive the evaluator.
  Evaluator(const Experiment& experiment, DatasetPtr dataset, World& world, Split transforms = Split::kVal);

  // Measures this rank's images. `progress` counts them, up to `own_images`. Collective. All ranks throw PredictionStopped
  // where the predictor of one of them was stopped, and EvaluationFailed where one of them failed in images of its own.
  EvalResult run(const Predictor& predictor, const std::function<void(int64_t done)>& progress = {});

  int64_t own_images() const { return std::ssize(own_); }
  const EvalSamples& samples() const { return samples_; }
  Quarantine& quarantine() { return quarantine_; }  // of all runs

 private:
  EvalSamples samples_;
  Counting counting_;
  Quarantine quarantine_;
  World& world_;
  int threads_;               // that load samples
  int64_t block_;             // images that may share a forward pass
  std::vector<int64_t> own_;  // indices
};

}  // namespace tessera
