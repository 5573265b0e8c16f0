#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/batch/quarantine.h"
#include "data/dataset.h"
#include "data/transforms/transform.h"
#include "dist/communicator.h"
#include "infer/predictor.h"
#include "metric/confusion_matrix.h"

namespace tessera {

// One evaluated image: how well it went, and enough to draw it again.
struct ImageScore {
  int64_t index = 0;
  std::string id;
  double mean_iou = 0;  // over the classes present in this image
};

struct EvalResult {
  IouReport report;
  std::vector<int64_t> confusion;  // num_classes x num_classes, row = label
  std::vector<ImageScore> images;  // in data-set order; images without a labelled pixel are left out
  int64_t num_images = 0;
  int64_t num_bad = 0;
  double seconds = 0;
  bool averaged = false;  // measured with the moving average of the weights
  // What was done because memory ran out and changes predictions a little; empty: nothing. See EvalLimits::windows.
  std::string windows_for_memory;
};

// An evaluation that a rank could not finish; thrown on all of them, so that they go on alike.
class EvaluationFailed : public Error {
 public:
  using Error::Error;
};

// A validation image ready for the network, with the labels to compare with.
struct EvalSample {
  Sample sample;    // after the validation transforms
  LabelMap labels;  // at the size asked for by eval.at
};

// A matrix for each image, counted side by side on the CPU.
std::vector<ConfusionMatrix> count_images(const std::vector<at::Tensor>& labels, const std::vector<at::Tensor>& predicted,
                                          int num_classes);

// Measures a model on every sample of a data set exactly once. Bad samples are quarantined and left out, never replaced.
class Evaluator {
 public:
  // Everything passed by reference must outlive the evaluator, and so must `ranks` (null: alone). Of several ranks each takes
  // every size-th block of images: which images share a forward pass does not depend on the number of ranks. See
  // Note [Images and ranks].
  Evaluator(const Experiment& experiment, const Dataset& dataset, const Pipeline& pipeline, Quarantine& quarantine, int threads,
            Communicator* ranks = nullptr);

  // This rank's images. `progress` counts them, up to `own_images`. Collective. All ranks throw PredictionStopped where the
  // predictor of one of them was stopped, and EvaluationFailed where one of them failed in images of its own.
  EvalResult run(const Predictor& predictor, const std::function<void(int64_t done)>& progress = {}) const;

  int64_t own_images() const { return static_cast<int64_t>(own_.size()); }

  // Sample `index` as `run` sees it. Throws BadSample.
  EvalSample load(int64_t index) const;

  // The same sample before any transform.
  Sample original(int64_t index) const { return dataset_.get(index); }

 private:
  Experiment experiment_;
  const Dataset& dataset_;
  const Pipeline& pipeline_;
  Quarantine& quarantine_;
  int threads_;
  Communicator* ranks_;
  int64_t block_;             // images that may share a forward pass
  std::vector<int64_t> own_;  // indices
};

// (1, H, W, C) tensor of an image's pixels.
at::Tensor image_tensor(const Image& image);
// (N, H, W, C) of images of one size and type, in memory from which `device` copies without waiting.
at::Tensor image_batch(const std::vector<const Image*>& images, at::Device device);

}  // namespace tessera
