#pragma once
#include "config/model_config.h"
#include "config/reader.h"

namespace tessera {

// The settings of a model that has no group of its own in the config, from `model.options`: a plain struct with defaults and a
// `describe` function, see Note [One schema]. A key or value that does not fit is a UsageError that names its place.
template <class Options>
Options model_options(const ModelConfig& config) {
  Options options;
  if (config.options.kind != Node::Kind::kNull) ConfigReader::read_struct(config.options, "model.options", options);
  return options;
}

}  // namespace tessera
