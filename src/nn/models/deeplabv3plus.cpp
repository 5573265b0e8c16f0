#include "nn/models/deeplabv3plus.h"

#include "nn/heads/aspp_head.h"
#include "nn/models/encoder_decoder.h"

namespace tessera {

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
