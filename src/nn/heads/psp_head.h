#pragma once
#include "config/segmentors_config.h"
#include "nn/blocks/layer.h"
#include "nn/heads/head.h"
#include "nn/heads/pooled.h"

namespace tessera {

// Pyramid scene parsing (Zhao et al., 2017) on the last stage, named as mmsegmentation's PSPHead.
class PspHead : public DecodeHead {
 public:
  PspHead(int64_t in, int64_t classes, const PspNetConfig& config);
  at::Tensor forward(const Features& features) override;

 private:
  std::shared_ptr<PyramidPooling> pyramid_;
  LayerPtr bottleneck_;
};

}  // namespace tessera
