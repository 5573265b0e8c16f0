#pragma once
#include <string>
#include <vector>

#include "config/segmentors_config.h"
#include "nn/heads/head.h"
#include "nn/model.h"

namespace tessera {

// A backbone, a head on its features and, in training, an auxiliary head on an earlier stage. The models of this family differ
// in their heads only.
class EncoderDecoder : public SegmentationModel {
 public:
  // Names of the heads, by which weights of the two libraries are found.
  struct Names {
    std::string head, aux;
  };
  static Names names_of(HeadLayout layout);

  // `aux` may be null. With `checkpoint` the heads run again in the backward pass; the backbone has its own setting.
  EncoderDecoder(const BackbonePtr& backbone, const HeadPtr& head, const HeadPtr& aux, HeadLayout layout, bool checkpoint);

  // Draws weights as the library of the heads' layout does. mmsegmentation's ResNets start with zero_gamma, torchvision's do
  // not.
  void init(uint64_t seed) override;
  std::vector<std::string> head_prefixes() const override { return {names_.head + ".", names_.aux + "."}; }

 protected:
  // The segments of the backbone, the auxiliary head, the head.
  std::vector<Segment> make_segments() override;

 private:
  FeatureNeeds needs_of(const Head& head) const;
  at::Tensor run_head(Head& head, const Features& features) const;

  HeadLayout layout_;
  Names names_;
  bool checkpoint_;
  BackbonePtr backbone_;
  HeadPtr head_, aux_;
};

// An auxiliary head on stage 3 as the layout's library has it; null when it is off.
HeadPtr make_aux_head(const AuxConfig& config, const Backbone& backbone, int64_t classes, HeadLayout layout);

}  // namespace tessera
