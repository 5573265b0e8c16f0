#include "nn/heads/fcn_head.h"
#include "nn/models/encoder_decoder.h"

namespace tessera {

// FCN on a ResNet of output stride 8: torchvision's model or mmsegmentation's, by `config.fcn.layout`. Logits at the output
// stride.
ModelPtr make_fcn(const ModelConfig& config, const ModelShape& shape) {
  const FcnConfig& own = config.fcn;
  const BackbonePtr backbone = make_backbone(config.backbone, shape.in_channels, 8);
  const int64_t in = backbone->stage_channels().back();
  HeadPtr head;
  if (own.layout == HeadLayout::kTorchvision) {
    head = std::make_shared<TorchvisionFcnHead>(in, shape.num_classes, /*stage=*/3, own.dropout);
  } else {
    head = std::make_shared<FcnHead>(in, FcnHead::Options{.channels = own.channels,
                                                          .classes = shape.num_classes,
                                                          .convs = own.convs,
                                                          .concat_input = own.concat_input,
                                                          .dropout = own.dropout});
  }
  const HeadPtr aux = make_aux_head(own.aux, *backbone, shape.num_classes, own.layout);
  return std::make_shared<EncoderDecoder>(backbone, head, aux, own.layout, config.backbone.checkpoint);
}

}  // namespace tessera
