#include "nn/registry.h"

#include <algorithm>

#include "config/experiment.h"
#include "config/frozen_part.h"
#include "config/writer.h"
#include "nn/blocks/dropout.h"
#include "nn/model.h"

namespace tessera {

#define TESSERA_MODEL(name) ModelPtr make_##name(const ModelConfig& config, const ModelShape& shape);
#include "nn/models.def"
#undef TESSERA_MODEL

namespace {

using ModelFactory = ModelPtr (*)(const ModelConfig&, const ModelShape&);

const Registry<ModelFactory>& models() {
#define TESSERA_MODEL(name) {#name, make_##name},
  static const Registry<ModelFactory> table{"model",
                                            {
#include "nn/models.def"
                                            }};
#undef TESSERA_MODEL
  return table;
}

// Models with a group of their own in the config do not look at model.options.
void check_options(const ModelConfig& config) {
  if (config.options.map.empty()) return;
  ModelConfig defaults;
  const auto lines = ConfigWriter::lines(defaults);
  const bool has_group =
      std::any_of(lines.begin(), lines.end(), [&](const SchemaLine& line) { return line.is_group && line.key == config.name; });
  if (has_group) fail_usage("model {} does not read model.options; its settings are in model.{}", config.name, config.name);
}

// What is frozen for a part of the run has to be there too.
void freeze_for_good(SegmentationModel& model, const ModelConfig& config) {
  std::vector<std::string> parts;
  for (const std::string& text : config.freeze) {
    const FrozenPart part = parse_frozen_part(text);
    model.parameters_of(part.part);  // throws
    if (part.always()) parts.push_back(part.part);
  }
  model.freeze(parts);
}

}  // namespace

ModelPtr make_model(const ModelConfig& config, const ModelShape& shape, uint64_t seed) {
  const ModelFactory make = models().at(config.name);
  check_options(config);
  ModelPtr model = make(config, shape);
  number_random_layers(*model);
  init_weights(*model, config, seed);
  freeze_for_good(*model, config);
  return model;
}

ModelPtr make_model(const Experiment& experiment, int num_classes) {
  const int channels = logit_channels(experiment.loss, num_classes, experiment.data.labels.multi);
  return make_model(experiment.model, {experiment.data.channels, channels}, experiment.train.seed);
}

std::vector<std::string> model_names() {
  return models().names();
}

}  // namespace tessera
