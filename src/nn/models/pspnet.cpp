#include "nn/heads/psp_head.h"
#include "nn/models/encoder_decoder.h"

namespace tessera {

// PSPNet (Zhao et al., 2017): a ResNet of output stride 8, pyramid pooling. Logits at the output stride.
ModelPtr make_pspnet(const ModelConfig& config, const ModelShape& shape) {
  const BackbonePtr backbone = make_backbone(config.backbone, shape.in_channels, 8);
  const auto head = std::make_shared<PspHead>(backbone->stage_channels().back(), shape.num_classes, config.pspnet);
  const HeadPtr aux = make_aux_head(config.pspnet.aux, *backbone, shape.num_classes, HeadLayout::kMmseg);
  return std::make_shared<EncoderDecoder>(backbone, head, aux, HeadLayout::kMmseg, config.backbone.checkpoint);
}

}  // namespace tessera
