#pragma once
#include <torch/nn/modules/conv.h>

#include <array>

#include "nn/backbones/backbone.h"
#include "nn/blocks/batch_norm.h"
#include "nn/blocks/layer.h"

namespace tessera {

struct ResNetLayout {
  bool bottleneck = true;
  std::array<int64_t, 4> blocks = {3, 4, 6, 3};
  int64_t groups = 1;
  int64_t base_width = 64;
};

// ResNet, ResNeXt and Wide ResNet without their classifier. Parameters have torchvision's names; a deep stem
// mmsegmentation's (stem.0 ... stem.7).
class ResNet : public Backbone {
 public:
  ResNet(const ResNetLayout& layout, const BackboneConfig& config, int64_t in_channels, int64_t output_stride);

  // Segments for the stem with the pooling behind it, then for each residual block.
  std::vector<Segment> segments(const std::string& prefix, const FeatureNeeds& needs) override;
  int64_t stem_channels() const override { return config_.stem_width; }
  std::vector<int64_t> stage_channels() const override { return stage_channels_; }
  void init(uint64_t seed, const std::string& prefix) override;

  // Frozen parts stay in evaluation mode.
  void train(bool on = true) override;

 private:
  at::Tensor stem(const at::Tensor& x);
  void freeze();

  BackboneConfig config_;
  torch::nn::Conv2d conv1_{nullptr};  // these two, or
  BatchNorm2d bn1_{nullptr};
  LayerPtr deep_stem_;  // this one
  std::vector<std::shared_ptr<LayerList>> stages_;
  std::vector<int64_t> stage_channels_;
  std::vector<std::shared_ptr<torch::nn::Module>> frozen_;  // what train() leaves in evaluation mode
};

}  // namespace tessera
