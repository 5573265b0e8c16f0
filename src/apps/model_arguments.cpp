#include "apps/model_arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "data/check/data_look.h"
#include "data/check/range_notes.h"
#include "data/check/sample_choice.h"
#include "data/datasets/dataset_factory.h"

namespace tessera {

void ModelArguments::add_to(CLI::App& command) {
  command.add_option("-w,--weights", weights, "run folder (its best checkpoint) or checkpoint folder")->option_text("RUN");
  command
      .add_option("-c,--config", config,
                  "in place of a run: a config, by file or built-in name; model.pretrained=... then says which weights")
      ->option_text("CONFIG");
  command.add_flag("--raw-weights", raw,
                   "take the weights as trained where the run also has their moving average (eval.weights=raw)");
}

std::vector<std::string> ModelArguments::all_overrides() const {
  std::vector<std::string> all = overrides;
  if (raw) all.emplace_back("eval.weights=raw");
  return all;
}

Experiment ModelArguments::experiment() const {
  std::error_code error;
  if (weights.empty() && config.empty())
    fail_usage(
        "which model? Give a run with --weights RUN, or a config and the file or name of its weights: CONFIG "
        "model.pretrained=WEIGHTS");
  if (!weights.empty() && !config.empty())
    fail_usage("--weights {} and the config {} both say which model; a run has its own config, so give one of them", weights,
               config);
  if (fs::is_directory(config, error) && fs::exists(fs::path(config) / "checkpoints", error))
    fail_usage("{} is a run, where a config was expected; give it with --weights {}", config, config);
  return weights.empty() ? load_experiment(config, all_overrides()) : trained_experiment(weights, all_overrides());
}

namespace {

// A run has decided what data.normalize.mode=auto stands for; weights from a file come without that, so it is decided as
// training would, by the training images that the config names. Where it names none, auto is fixed.
void decide_normalisation(Experiment& experiment) {
  DataConfig& data = experiment.data;
  if (data.normalize.mode != NormalizeMode::kAuto || (data.path.empty() && data.train.path.empty())) return;
  DatasetPtr dataset = make_dataset(data, Split::kTrain);
  if (dataset->size() == 0) dataset = make_dataset(data, Split::kVal);
  const DataLook look = look_at_data(*dataset, kSamplesLookedAt, experiment.train.seed, loader_threads(data.threads, 1));
  data.normalize = decided_normalize(data, facts_of(look.images));
  if (data.normalize.mode == NormalizeMode::kRange)
    log_info("data.normalize.mode=auto: {} to {} become 0 to 1, by {} images of data.path; the weights may be of others",
             fmt::join(data.normalize.low_value, ", "), fmt::join(data.normalize.high_value, ", "), look.images.size());
}

}  // namespace

TrainedModel ModelArguments::load(const std::string& device) const {
  std::vector<std::string> all = all_overrides();
  all.push_back("train.device=" + device);
  if (!weights.empty()) return load_trained(weights, all);
  TrainedModel model = load_configured(config, all);
  decide_normalisation(model.experiment);
  return model;
}

bool sets_value(const std::string& word) {
  const std::string key = word.substr(0, word.find('='));
  const auto in_key = [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_' || c == '.'; };
  std::error_code error;
  return key.size() < word.size() && key.find('.') != std::string::npos && !key.starts_with('.') &&
         std::all_of(key.begin(), key.end(), in_key) && !fs::exists(word, error);
}

}  // namespace tessera
