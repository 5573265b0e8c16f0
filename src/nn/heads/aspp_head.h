#pragma once
#include <vector>

#include "config/segmentors_config.h"
#include "nn/blocks/layer.h"
#include "nn/heads/head.h"

namespace tessera {

// Atrous spatial pyramid pooling on the last stage, arranged and named as mmsegmentation's ASPPHead (DeepLabV3).
class AsppHead : public DecodeHead {
 public:
  struct Options {
    int64_t channels = 512;
    int64_t classes = 2;
    std::vector<int64_t> dilations = {12, 24, 36};  // besides the 1x1 branch
    double dropout = 0.1;
    bool align_corners = false;
    Separable separable = Separable::kNone;
  };
  AsppHead(int64_t in, const Options& options);
  at::Tensor forward(const Features& features) override;

 protected:
  at::Tensor pyramid(const at::Tensor& x);  // the bottleneck's output
  bool align_corners() const { return align_corners_; }

 private:
  bool align_corners_;
  LayerPtr image_pool_, bottleneck_;
  std::shared_ptr<LayerList> branches_;
};

// AsppHead with the decoder of DeepLabV3+, which joins stage 1: mmsegmentation's DepthwiseSeparableASPPHead where `separable`
// is kAspp (its bottleneck is a plain 3x3), else forms of it with other convolutions.
class AsppPlusHead : public AsppHead {
 public:
  AsppPlusHead(int64_t in, int64_t low_level_in, int64_t low_level_channels, const Options& options);
  at::Tensor forward(const Features& features) override;
  std::vector<size_t> stages() const override { return {0, kStages - 1}; }

 private:
  LayerPtr low_level_, decoder_;
};

}  // namespace tessera
