#pragma once
#include "support/tiny_experiment.h"

namespace tessera::testing {

// An experiment with the registered model `name` small enough for a test. The settings reach every model there is; one that
// has just been added comes in its default form.
inline Experiment small_model(const std::string& name, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all{
      "model.name=" + name,
      "model.unet.channels=[8, 16]",
      "model.unet.dropout=0.1",
      "model.backbone={name: resnet18, width: 8, stem_width: 8}",
      "model.pspnet={channels: 16, aux: {channels: 8}}",
      "model.upernet={channels: 16, aux: {channels: 8}}",
      "model.deeplabv3={channels: 16, dilations: [1, 2]}",
      "model.deeplabv3plus={channels: 16, dilations: [1, 2], low_level_channels: 8}",
      "model.unet_resnet.channels=[32, 16, 16, 8, 8]",
      "model.segmenter={patch: 8, width: 32, layers: 2, heads: 2, image_size: 32, decoder_layers: 1}",
      "model.upernet_vit={patch: 8, width: 32, layers: 4, heads: 2, image_size: 32, head: {channels: 16, aux: {channels: 8}}}",
      "train.norm_group=8",
  };
  all.insert(all.end(), overrides.begin(), overrides.end());
  return tiny_experiment(all);
}

}  // namespace tessera::testing
