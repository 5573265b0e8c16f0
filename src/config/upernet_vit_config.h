#pragma once
#include "config/segmentors_config.h"
#include "config/vit_config.h"

namespace tessera {

struct UperNetVitConfig : VitConfig {
  std::vector<int64_t> out_layers;
  UperNetConfig head;
};
template <class V>
void describe(V& v, UperNetVitConfig& c) {
  describe(v, static_cast<VitConfig&>(c));
  v.field("out_layers", c.out_layers, "the four layers, from 0, whose tokens make the pyramid; empty: spread evenly",
          at_least(0));
  v.group("head", c.head, "pyramid pooling and feature pyramid");
}

}  // namespace tessera
