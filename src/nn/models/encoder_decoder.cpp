#include "nn/models/encoder_decoder.h"

#include <torch/types.h>

#include "nn/backbones/residual_block.h"
#include "nn/blocks/checkpointed.h"
#include "nn/heads/fcn_head.h"

namespace tessera {

EncoderDecoder::Names EncoderDecoder::names_of(HeadLayout layout) {
  if (layout == HeadLayout::kTorchvision) return {"classifier", "aux_classifier"};
  return {"decode_head", "auxiliary_head"};
}

EncoderDecoder::EncoderDecoder(const BackbonePtr& backbone, const HeadPtr& head, const HeadPtr& aux, HeadLayout layout,
                               bool checkpoint)
    : layout_(layout), names_(names_of(layout)), checkpoint_(checkpoint) {
  backbone_ = register_module("backbone", backbone);
  head_ = register_module(names_.head, head);
  if (aux) aux_ = register_module(names_.aux, aux);
}

at::Tensor EncoderDecoder::run_head(Head& head, const Features& features) const {
  if (!checkpoint_) return head.forward(features);
  // Only the stages: no head of this family looks at the image or the stem.
  return checkpointed(head, features.stages, [&head](const std::vector<at::Tensor>& stages) {
    return head.forward(Features{.input = {}, .stem = {}, .stages = stages});
  });
}

ModelOutput EncoderDecoder::forward(const at::Tensor& x) {
  const Features features = backbone_->forward(x);
  ModelOutput output{run_head(*head_, features), {}};
  if (aux_ && is_training()) output.aux = run_head(*aux_, features);
  return output;
}

void EncoderDecoder::init(uint64_t seed) {
  backbone_->init(seed, "backbone.");
  head_->init(seed, names_.head + ".");
  if (aux_) aux_->init(seed, names_.aux + ".");
  if (layout_ == HeadLayout::kMmseg) set_last_gammas(*backbone_, 0);
}

HeadPtr make_aux_head(const AuxConfig& config, const Backbone& backbone, int64_t classes, HeadLayout layout) {
  if (!config.enabled) return nullptr;
  constexpr size_t kStage = 2;
  const int64_t in = backbone.stage_channels()[kStage];
  if (layout == HeadLayout::kTorchvision) {
    return std::make_shared<TorchvisionFcnHead>(in, classes, kStage, config.dropout);
  }
  return std::make_shared<FcnHead>(in, FcnHead::Options{.stage = kStage,
                                                        .channels = config.channels,
                                                        .classes = classes,
                                                        .convs = 1,
                                                        .concat_input = false,
                                                        .dropout = config.dropout});
}

}  // namespace tessera
