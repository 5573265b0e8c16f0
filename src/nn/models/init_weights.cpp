// What model.init and model.zero_gamma make of a model that has just been built.
#include "core/error.h"
#include "nn/backbones/residual_block.h"
#include "nn/init/init_layers.h"
#include "nn/model.h"

namespace tessera {
namespace {

LayerInit layer_init(Init init) {
  switch (init) {
    case Init::kHe: return LayerInit::kHe;
    case Init::kLecun: return LayerInit::kLecun;
    case Init::kGlorot: return LayerInit::kGlorot;
    default: return LayerInit::kTorch;
  }
}

}  // namespace

void init_weights(SegmentationModel& model, const ModelConfig& config, uint64_t seed) {
  model.init(seed);
  if (config.init != Init::kReference) init_layers(model, layer_init(config.init), seed);
  if (!config.zero_gamma) return;
  if (set_last_gammas(model, *config.zero_gamma ? 0 : 1) == 0) {
    fail_usage(
        "model.zero_gamma is for the residual blocks of a ResNet, and {} as configured has none; take it out of the config",
        config.name);
  }
}

}  // namespace tessera
