#pragma once
#include <string>
#include <vector>

#include "nn/backbones/backbone.h"
#include "nn/blocks/layer.h"
#include "nn/model.h"

namespace tessera {

// U-Net with a ResNet encoder, arranged and named as segmentation-models-pytorch's Unet: five decoder blocks, each a nearest
// resize to the next finer feature, the join, and two 3x3 convolutions. Logits have the input's resolution, at any size.
class UNetResNet : public SegmentationModel {
 public:
  UNetResNet(const UNetResNetConfig& config, const BackbonePtr& encoder, int64_t num_classes, bool checkpoint);

  ModelOutput forward(const at::Tensor& x) override;
  void init(uint64_t seed) override;
  std::vector<std::string> head_prefixes() const override { return {"decoder.", "segmentation_head."}; }

 private:
  bool checkpoint_;
  BackbonePtr encoder_;
  std::vector<LayerPtr> blocks_;
  LayerPtr classifier_;
};

ModelPtr make_unet_resnet(const ModelConfig& config, const ModelShape& shape);

}  // namespace tessera
