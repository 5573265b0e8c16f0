#include "nn/heads/aspp_head.h"
#include "nn/heads/deeplab_head.h"
#include "nn/models/encoder_decoder.h"

namespace tessera {

// DeepLabV3 (Chen et al., 2017): a ResNet of output stride 8, ASPP. torchvision's model or mmsegmentation's, by
// `config.deeplabv3.layout`. Logits at the output stride.
ModelPtr make_deeplabv3(const ModelConfig& config, const ModelShape& shape) {
  const DeepLabV3Config& own = config.deeplabv3;
  const BackbonePtr backbone = make_backbone(config.backbone, shape.in_channels, 8);
  const int64_t in = backbone->stage_channels().back();
  HeadPtr head;
  if (own.layout == HeadLayout::kTorchvision) {
    head = std::make_shared<TorchvisionDeepLabHead>(in, own.channels > 0 ? own.channels : 256, shape.num_classes, own.dilations,
                                                    own.aspp_dropout);
  } else {
    head = std::make_shared<AsppHead>(in, AsppHead::Options{.channels = own.channels > 0 ? own.channels : 512,
                                                            .classes = shape.num_classes,
                                                            .dilations = own.dilations,
                                                            .dropout = own.dropout,
                                                            .align_corners = own.align_corners});
  }
  const HeadPtr aux = make_aux_head(own.aux, *backbone, shape.num_classes, own.layout);
  return std::make_shared<EncoderDecoder>(backbone, head, aux, own.layout, config.backbone.checkpoint);
}

}  // namespace tessera
