#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "config/backbone_config.h"

namespace tessera {

// What a backbone makes of an image, from fine to coarse.
struct Features {
  at::Tensor input;                // the image itself
  at::Tensor stem;                 // stride 2; undefined for backbones without a stem
  std::vector<at::Tensor> stages;  // the four stages: strides 4, 8, 16, 32 where nothing is dilated
};

class Backbone : public torch::nn::Module {
 public:
  virtual Features forward(const at::Tensor& x) = 0;
  virtual int64_t stem_channels() const = 0;
  virtual std::vector<int64_t> stage_channels() const = 0;
  // Draws the weights as the libraries do; `prefix` is the backbone's place in the model ("backbone."). See
  // nn/init/init_layers.h.
  virtual void init(uint64_t seed, const std::string& prefix) = 0;
};
using BackbonePtr = std::shared_ptr<Backbone>;

// The backbone `config.name`; `output_stride` is used where the config leaves it open. An unknown name answers with the known.
BackbonePtr make_backbone(const BackboneConfig& config, int64_t in_channels, int64_t output_stride);
std::vector<std::string> backbone_names();

}  // namespace tessera
