#pragma once
#include <torch/nn/modules/container/sequential.h>

#include <vector>

#include "nn/backbones/backbone.h"
#include "nn/backbones/vit.h"

namespace tessera {

// A vision transformer as a backbone of four stages: the tokens of four layers, brought to a quarter, half, once and twice the
// patch (strides 4 to 32 for a patch of 16) by transposed convolutions and pooling, as mmsegmentation's Feature2Pyramid does.
// The features cover the input filled up to a multiple of the patch.
class VitPyramid : public Backbone {
 public:
  // out_layers: four in rising order, or empty for layers spread evenly, the last one included.
  VitPyramid(const VitOptions& options, std::vector<int64_t> out_layers);

  // The segments of the transformer, then the pyramid with the transformer's last norm.
  std::vector<Segment> segments(const std::string& prefix, const FeatureNeeds& needs) override;
  int64_t stem_channels() const override { return 0; }
  std::vector<int64_t> stage_channels() const override {
    return std::vector<int64_t>(kStages, vit_->options().transformer.width);
  }
  bool fills_up() const override { return true; }
  at::Tensor cut_back(const at::Tensor& logits, const at::Tensor& size) const override { return vit_->cut_back(logits, size); }
  // Draws the vision transformer as timm does, the pyramid as mmsegmentation does.
  void init(uint64_t seed, const std::string& prefix) override;
  Vit& vit() { return vit_; }

 private:
  std::vector<int64_t> out_layers_;
  Vit vit_{nullptr};
  torch::nn::Sequential up4_{nullptr}, up2_{nullptr};
};

}  // namespace tessera
