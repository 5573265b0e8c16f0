#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "config/dist_config.h"
#include "config/environment.h"
#include "config/guard_config.h"
#include "config/loss_config.h"
#include "config/model_config.h"
#include "config/node.h"
#include "config/optim_config.h"
#include "config/train_config.h"
#include "config/writer.h"

namespace tessera {

// Everything that defines a run.
struct Experiment {
  std::string recipe;  // for the schema: compose() lays its values over the config and leaves this empty, Note [Recipes]
  RunConfig run;
  DataConfig data;
  ModelConfig model;
  LossConfig loss;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  TrainConfig train;
  EvalConfig eval;
  CheckpointConfig checkpoint;
  DistConfig dist;
  GuardConfig guard;
  std::vector<SecretText> secrets;  // no part of the schema: which of its texts are saved as they were written
};

// A config file with its recipe and the values laid over it. `file` may be empty: defaults and overrides only. made_recipe:
// what recipe=auto stands for.
Node compose(const std::filesystem::path& file, const std::vector<std::string>& overrides, const Node* made_recipe = nullptr);

// Typed, checked field by field and across fields (`validate`). Throws UsageError. `missing`: for configs of runs, which may be
// read where the secrets of their training are not known (Note [Secrets]).
Experiment read_experiment(const Node& node, MissingSecrets missing = MissingSecrets::kRefuse);
Experiment load_experiment(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

// The auxiliary loss's factor: loss.aux_weight or, where that is not set, what the layout's library trains with. The
// experiments that the functions above give have it set.
double aux_weight_of(const Experiment& experiment);

// Factors of the losses of a model's logits, the main ones first, then `num_aux` auxiliary ones. An auxiliary head has
// aux_weight beside a main one of 1. With deep supervision each height has aux_weight times the factor of the one above, and
// all add up to 1, as in nnU-Net.
std::vector<double> output_weights(const Experiment& experiment, size_t num_aux);

// data.normalize as it comes: ImageNet's mean and std of RGB, their averages for any other number of channels. Experiments that
// leave it alone have these numbers.
NormalizeConfig default_normalize(int64_t channels);

// The fields with their present values, secrets left out: for printing, help and docs, for files and to compare runs.
std::vector<SchemaLine> experiment_lines(Experiment& experiment);
std::string experiment_yaml(const Experiment& experiment);

// What only shows when several fields are looked at together.
void validate(const Experiment& experiment);

}  // namespace tessera
