#pragma once
#include <cstdint>

#include "config/schema.h"
#include "config/vit_config.h"

namespace tessera {

enum class SegmenterDecoder { kLinear, kMask };
template <>
struct EnumNames<SegmenterDecoder> {
  static constexpr std::array<std::string_view, 2> names = {"linear", "mask"};
};

struct SegmenterConfig : VitConfig {
  SegmenterDecoder decoder = SegmenterDecoder::kMask;
  int64_t decoder_layers = 2;
  double decoder_drop_path = 0;
  double decoder_dropout = 0.1;
};
template <class V>
void describe(V& v, SegmenterConfig& c) {
  describe(v, static_cast<VitConfig&>(c));
  v.field("decoder", c.decoder, "linear: one linear layer per patch; mask: transformer over patches and class embeddings");
  v.field("decoder_layers", c.decoder_layers, "transformer layers of the mask decoder", at_least(1));
  v.field("decoder_drop_path", c.decoder_drop_path, "of the last mask decoder layer", between(0, 0.99));
  v.field("decoder_dropout", c.decoder_dropout, "of the mask decoder's projections and MLPs", between(0, 0.99));
}

}  // namespace tessera
