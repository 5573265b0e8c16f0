#include "apps/model_arguments.h"

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "core/files.h"

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

TrainedModel ModelArguments::load(const std::string& device) const {
  std::vector<std::string> all = all_overrides();
  all.push_back("train.device=" + device);
  return weights.empty() ? load_configured(config, all) : load_trained(weights, all);
}

bool sets_value(const std::string& word) {
  const std::string key = word.substr(0, word.find('='));
  const auto in_key = [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_' || c == '.'; };
  std::error_code error;
  return key.size() < word.size() && key.find('.') != std::string::npos && !key.starts_with('.') &&
         std::all_of(key.begin(), key.end(), in_key) && !fs::exists(word, error);
}

}  // namespace tessera
