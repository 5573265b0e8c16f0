#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "infer/trained_model.h"

namespace tessera {

// The model that a command applies, as its arguments name it: --weights RUN, or a config together with
// model.pretrained=WEIGHTS, for weights that Tessera has not trained. `overrides` are laid over the run's config, or over the
// one that is named.
struct ModelArguments {
  std::string weights, config;
  std::vector<std::string> overrides;
  bool raw = false;

  void add_to(CLI::App& command);  // -w, -c, --raw-weights

  Experiment experiment() const;  // quick. Throws UsageError unless exactly one of both is named
  TrainedModel load(const std::string& device) const;

 private:
  std::vector<std::string> all_overrides() const;
};

// Whether a word sets a value (eval.flip=true) rather than names a file: it begins with a dotted key and no such file is there.
bool sets_value(const std::string& word);

}  // namespace tessera
