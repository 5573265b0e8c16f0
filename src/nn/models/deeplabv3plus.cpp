#include "nn/heads/aspp_head.h"
#include "nn/models/encoder_decoder.h"

namespace tessera {

// DeepLabV3+ (Chen et al., 2018): a ResNet of output stride 8, ASPP, a decoder that joins stage 1. Logits at stride 4.
ModelPtr make_deeplabv3plus(const ModelConfig& config, const ModelShape& shape) {
  const DeepLabV3PlusConfig& own = config.deeplabv3plus;
  const BackbonePtr backbone = make_backbone(config.backbone, shape.in_channels, 8);
  const std::vector<int64_t> channels = backbone->stage_channels();
  const auto head = std::make_shared<AsppPlusHead>(channels.back(), channels.front(), own.low_level_channels,
                                                   AsppHead::Options{.channels = own.channels,
                                                                     .classes = shape.num_classes,
                                                                     .dilations = own.dilations,
                                                                     .dropout = own.dropout,
                                                                     .align_corners = own.align_corners,
                                                                     .separable = own.separable});
  const HeadPtr aux = make_aux_head(own.aux, *backbone, shape.num_classes, HeadLayout::kMmseg);
  return std::make_shared<EncoderDecoder>(backbone, head, aux, HeadLayout::kMmseg, config.backbone.checkpoint);
}

}  // namespace tessera
