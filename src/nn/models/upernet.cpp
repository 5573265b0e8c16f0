#include "nn/heads/uper_head.h"
#include "nn/models/encoder_decoder.h"

namespace tessera {

// UPerNet (Xiao et al., 2018): an undilated ResNet, pyramid pooling and a feature pyramid. Logits at stride 4.
ModelPtr make_upernet(const ModelConfig& config, const ModelShape& shape) {
  const BackbonePtr backbone = make_backbone(config.backbone, shape.in_channels, 32);
  const auto head = std::make_shared<UperHead>(backbone->stage_channels(), shape.num_classes, config.upernet);
  const HeadPtr aux = make_aux_head(config.upernet.aux, *backbone, shape.num_classes, HeadLayout::kMmseg);
  return std::make_shared<EncoderDecoder>(backbone, head, aux, HeadLayout::kMmseg, config.backbone.checkpoint);
}

}  // namespace tessera
