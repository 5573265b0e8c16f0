#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "infer/checkpoint/checkpoint.h"
#include "infer/checkpoint/sample_names.h"
#include "infer/predictor.h"
#include "nn/model.h"

namespace tessera {

// A trained model with everything needed to use it: the experiment (so also the preprocessing) and the classes come from the
// checkpoint, not from the user's memory. For weights that others trained they come from a config.
struct TrainedModel {
  std::filesystem::path checkpoint;  // or the file of weights
  Experiment experiment;
  ClassTable classes;
  SampleNames samples;          // of its run; nothing is known of those of a file
  ImageFacts images;            // that it was trained on
  std::optional<int64_t> step;  // of its run; none of a file
  bool averaged = false;        // its weights are the moving average, see eval.weights
  ModelPtr model;
  at::Device device;

  // "runs/demo/checkpoints/step-00000040 at step 40, moving average of the weights"; of a file its name
  std::string title() const;
  Predictor predictor() const { return Predictor(experiment, model, device); }
};

// Loads the model of `given`: a run folder (its best checkpoint, else its newest) or a checkpoint. Overrides such as
// eval.flip=true are laid over the checkpoint's config.
TrainedModel load_trained(const std::filesystem::path& given, const std::vector<std::string>& overrides);

// Loads the model that a config (a file, or a built-in one by name) describes with the weights that its model.pretrained names:
// a file of any library that load_pretrained knows, a name, a URL. Nothing of it may be random, so a file without the whole
// head, or one for other classes than the config's, is an Error; an auxiliary head, which only training uses, may be missing.
TrainedModel load_configured(const std::filesystem::path& config, const std::vector<std::string>& overrides);

// The weights of a checkpoint that evaluation takes: the moving average, where there is one and the config says so.
const NamedTensors& weights_to_use(const Checkpoint& checkpoint, const Experiment& experiment);

// Reads the experiment alone, which is quick.
Experiment trained_experiment(const std::filesystem::path& given, const std::vector<std::string>& overrides);

}  // namespace tessera
