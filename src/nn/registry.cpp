#include "nn/registry.h"

#include "nn/blocks/dropout.h"
#include "nn/model.h"
#include "nn/models/unet.h"

namespace tessera {
namespace {

using ModelFactory = ModelPtr (*)(const ModelConfig&, const ModelShape&);

const Registry<ModelFactory>& models() {
  static const Registry<ModelFactory> table{"model",
                                            {
                                                {"unet", make_unet},
                                            }};
  return table;
}

}  // namespace

ModelPtr make_model(const ModelConfig& config, const ModelShape& shape, uint64_t seed) {
  ModelPtr model = models().at(config.name)(config, shape);
  number_random_layers(*model);
  init_weights(*model, seed);
  return model;
}

std::vector<std::string> model_names() {
  return models().names();
}

}  // namespace tessera
