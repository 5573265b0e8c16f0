#pragma once
#include <vector>

#include "config/segmentors_config.h"
#include "nn/blocks/layer.h"
#include "nn/heads/head.h"
#include "nn/heads/pooled.h"

namespace tessera {

// Unified perceptual parsing (Xiao et al., 2018): pyramid pooling on the last stage, a feature pyramid down to the first, all
// levels fused at the first one's resolution. Named as mmsegmentation's UPerHead.
class UperHead : public DecodeHead {
 public:
  UperHead(const std::vector<int64_t>& stage_channels, int64_t classes, const UperNetConfig& config);
  at::Tensor forward(const Features& features) override;
  std::vector<size_t> stages() const override { return {0, 1, 2, 3}; }

 private:
  bool align_corners_;
  std::shared_ptr<PyramidPooling> pyramid_;
  LayerPtr bottleneck_, fusion_;
  std::shared_ptr<LayerList> laterals_, smooth_;
};

}  // namespace tessera
