#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "config/model_config.h"

namespace tessera {

// Models return logits at their own resolution; upsampling to the labels belongs to the loss, the metric and the predictor.
struct ModelOutput {
  at::Tensor logits;  // (N, C, h, w)
  at::Tensor aux;     // (N, C, h', w') of an auxiliary head, or undefined
};

class SegmentationModel : public torch::nn::Module {
 public:
  // x: (N, channels, H, W), any H and W at least `min_size`. The logits cover the whole input unless `covered` says otherwise.
  virtual ModelOutput forward(const at::Tensor& x) = 0;

  // How much of an input side the logits cover, in the centre: less than all for valid convolutions.
  virtual int64_t covered(int64_t size) const { return size; }

  // Smallest input side that works.
  virtual int64_t min_size() const { return 1; }

  // Prefixes of the parameters that belong to the head (they may get their own learning rate).
  virtual std::vector<std::string> head_prefixes() const = 0;
};

using ModelPtr = std::shared_ptr<SegmentationModel>;

struct ModelShape {
  int64_t in_channels = 3;
  int64_t num_classes = 2;  // output channels
};

// The model `config.name`, with weights drawn from `seed`. An unknown name answers with the known ones.
ModelPtr make_model(const ModelConfig& config, const ModelShape& shape, uint64_t seed);
std::vector<std::string> model_names();

int64_t count_parameters(const torch::nn::Module& model);

// Gives every convolution and linear layer Kaiming-normal weights (fan out, ReLU) and zero bias. The numbers of a parameter
// are a function of (seed, its name): adding a layer elsewhere does not change them.
void init_weights(torch::nn::Module& model, uint64_t seed);

}  // namespace tessera
