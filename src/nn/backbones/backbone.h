#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "config/backbone_config.h"
#include "nn/blocks/segment.h"

namespace tessera {

constexpr size_t kStages = 4;

// What a backbone makes of an image, from fine to coarse. What nobody asked for is undefined.
struct Features {
  at::Tensor size = {};                         // of the image: see size_tensor
  at::Tensor stem = {};                         // stride 2; backbones need not have a stem
  std::array<at::Tensor, kStages> stages = {};  // strides 4, 8, 16, 32 where nothing is dilated
};

// Which features are asked for. A state holds exactly those, in the order of Features.
struct FeatureNeeds {
  bool size = false, stem = false;
  std::array<bool, kStages> stages = {};

  size_t count() const;
  FeatureNeeds operator|(const FeatureNeeds& other) const;
  Tensors pack(const Features& features) const;
  Features unpack(const Tensors& state) const;  // whatever follows them in the state is left alone
};

class Backbone : public torch::nn::Module {
 public:
  // The segments from {image} to the features that are needed; the last stage must be among them. `prefix` is the backbone's
  // place in the model ("backbone."). See Note [Segments].
  virtual std::vector<Segment> segments(const std::string& prefix, const FeatureNeeds& needs) = 0;
  // Runs the segments for all features that it has, without activation checkpointing.
  Features forward(const at::Tensor& x);

  virtual int64_t stem_channels() const = 0;
  virtual std::vector<int64_t> stage_channels() const = 0;
  // Whether features may reach over the edges of the image, which was filled up for them. cut_back then takes the image's part
  // of logits that were made of such features; `size` is the one in Features.
  virtual bool fills_up() const { return false; }
  virtual at::Tensor cut_back(const at::Tensor& logits, const at::Tensor& size) const;
  // Draws the weights as the libraries do; `prefix` as above. See nn/init/init_layers.h.
  virtual void init(uint64_t seed, const std::string& prefix) = 0;
};
using BackbonePtr = std::shared_ptr<Backbone>;

// The backbone `config.name`; `output_stride` is used where the config leaves it open. An unknown name answers with the known.
BackbonePtr make_backbone(const BackboneConfig& config, int64_t in_channels, int64_t output_stride);
std::vector<std::string> backbone_names();

}  // namespace tessera
