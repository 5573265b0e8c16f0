#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "infer/checkpoint/checkpoint.h"
#include "infer/checkpoint/sample_names.h"
#include "infer/predictor.h"
#include "nn/model.h"

namespace tessera {

// A trained model with everything needed to use it: the experiment (so also the preprocessing) and the classes come from the
// checkpoint, not from the user's memory.
struct TrainedModel {
  std::filesystem::path checkpoint;
  Experiment experiment;
  ClassTable classes;
  SampleNames samples;  // of its run
  ImageFacts images;    // that it was trained on
  int64_t step = 0;
  bool averaged = false;  // its weights are the moving average, see eval.weights
  ModelPtr model;
  at::Device device;

  // "runs/demo/checkpoints/step-00000040 at step 40, moving average of the weights"
  std::string title() const;
  Predictor predictor() const { return Predictor(experiment, model, device); }
};

// Loads the model of `given`: a run folder (its best checkpoint, else its newest) or a checkpoint. Overrides such as
// eval.flip=true are laid over the checkpoint's config.
TrainedModel load_trained(const std::filesystem::path& given, const std::vector<std::string>& overrides);

// The weights of a checkpoint that evaluation takes: the moving average, where there is one and the config says so.
const NamedTensors& weights_to_use(const Checkpoint& checkpoint, const Experiment& experiment);

// Reads the experiment alone, which is quick.
Experiment trained_experiment(const std::filesystem::path& given, const std::vector<std::string>& overrides);

}  // namespace tessera
