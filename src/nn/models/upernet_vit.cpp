#include <torch/types.h>

#include "nn/backbones/vit_pyramid.h"
#include "nn/heads/uper_head.h"
#include "nn/models/encoder_decoder.h"

namespace tessera {
namespace {

const std::string kVit = "backbone.vit.";

// UPerNet's head on a vision transformer with a simple feature pyramid. Logits at a quarter of the patch's stride (stride 4 for
// a patch of 16) when the input is a multiple of the patch; else at the input's resolution, see nn/models/segmenter.h.
class UperNetVit : public EncoderDecoder {
 public:
  UperNetVit(const std::shared_ptr<VitPyramid>& backbone, const HeadPtr& head, const HeadPtr& aux, bool checkpoint)
      : EncoderDecoder(backbone, head, aux, HeadLayout::kMmseg, checkpoint), vit_(backbone->vit()) {}

  std::vector<std::string> no_weight_decay() const override {
    std::vector<std::string> names{kVit + "pos_embed", kVit + "cls_token"};
    if (vit_->options().distilled) names.push_back(kVit + "dist_token");
    return names;
  }

 private:
  Vit vit_;
};

}  // namespace

ModelPtr make_upernet_vit(const ModelConfig& config, const ModelShape& shape) {
  const UperNetVitConfig& own = config.upernet_vit;
  const auto backbone = std::make_shared<VitPyramid>(vit_options(own, shape.in_channels), own.out_layers);
  const auto head = std::make_shared<UperHead>(backbone->stage_channels(), shape.num_classes, own.head);
  const HeadPtr aux = make_aux_head(own.head.aux, *backbone, shape.num_classes, HeadLayout::kMmseg);
  return std::make_shared<UperNetVit>(backbone, head, aux, own.checkpoint);
}

}  // namespace tessera
