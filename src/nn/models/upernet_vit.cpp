#include "nn/models/upernet_vit.h"

#include <torch/types.h>

#include "nn/backbones/vit_pyramid.h"
#include "nn/blocks/resize.h"
#include "nn/heads/uper_head.h"
#include "nn/models/encoder_decoder.h"

namespace tessera {
namespace {

const std::string kVit = "backbone.vit.";

class UperNetVit : public EncoderDecoder {
 public:
  UperNetVit(const std::shared_ptr<VitPyramid>& backbone, const HeadPtr& head, const HeadPtr& aux, bool checkpoint)
      : EncoderDecoder(backbone, head, aux, HeadLayout::kMmseg, checkpoint), vit_(backbone->vit()) {}

  ModelOutput forward(const at::Tensor& x) override {
    const ModelOutput output = EncoderDecoder::forward(x);
    return {cut_back(output.logits, x), output.aux.defined() ? cut_back(output.aux, x) : output.aux};
  }

  std::vector<std::string> no_weight_decay() const override {
    std::vector<std::string> names{kVit + "pos_embed", kVit + "cls_token"};
    if (vit_->options().distilled) names.push_back(kVit + "dist_token");
    return names;
  }
  int64_t num_depths() const override { return vit_->options().layers + 2; }
  int64_t depth_of(const std::string& parameter) const override {
    const int64_t layers = vit_->options().layers;
    return parameter.starts_with(kVit) ? vit_depth(parameter.substr(kVit.size()), layers) : layers + 1;
  }

 private:
  at::Tensor cut_back(const at::Tensor& logits, const at::Tensor& x) const {
    const int64_t patch = vit_->options().patch, height = x.size(2), width = x.size(3);
    if (height % patch == 0 && width % patch == 0) return logits;
    const auto [rows, columns] = vit_->grid(height, width);
    return resize(logits, {rows * patch, columns * patch}, false).slice(2, 0, height).slice(3, 0, width);
  }

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
