#include "nn/models/encoder_decoder.h"

#include <torch/types.h>

#include "nn/backbones/residual_block.h"
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

FeatureNeeds EncoderDecoder::needs_of(const Head& head) const {
  FeatureNeeds needs{.size = backbone_->fills_up()};
  for (const size_t stage : head.stages()) needs.stages[stage] = true;
  return needs;
}

at::Tensor EncoderDecoder::run_head(Head& head, const Features& features) const {
  return backbone_->cut_back(head.forward(features), features.size);
}

// The auxiliary head stands before the head, so that its logits travel on and not the stage that it reads. It stands behind the
// whole backbone: in UPerNet three read that stage, and this order of operations is the one in which their gradients are
// summed.
std::vector<Segment> EncoderDecoder::make_segments() {
  const FeatureNeeds for_head = needs_of(*head_), for_both = aux_ ? for_head | needs_of(*aux_) : for_head;
  std::vector<Segment> all = backbone_->segments("backbone.", for_both);
  const int64_t depth = all.back().depth;
  if (aux_) {
    all.push_back({.name = names_.aux,
                   .parts = {names_.aux},
                   .compute =
                       [this, for_head, for_both](const Tensors& in) {
                         const Features features = for_both.unpack(in);
                         Tensors out = for_head.pack(features);
                         if (is_training()) out.push_back(run_head(*aux_, features));
                         return out;
                       },
                   .checkpoint = checkpoint_,
                   .depth = depth});
  }
  all.push_back({.name = names_.head,
                 .parts = {names_.head},
                 .compute =
                     [this, for_head](const Tensors& in) {
                       Tensors out{run_head(*head_, for_head.unpack(in))};
                       out.insert(out.end(), in.begin() + static_cast<int64_t>(for_head.count()), in.end());  // aux
                       return out;
                     },
                 .checkpoint = checkpoint_,
                 .depth = depth});
  return all;
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
