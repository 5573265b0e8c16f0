#pragma once
#include "config/duration.h"
#include "config/schema.h"

namespace tessera {

enum class AnnealShape { kCosine, kLinear };
template <>
struct EnumNames<AnnealShape> {
  static constexpr std::array<std::string_view, 2> names = {"cosine", "linear"};
};

// Stochastic weight averaging: the plain mean of the weights at the end of every `update_interval` after `start`.
struct SwaConfig {
  Duration start;
  Duration update_interval = Duration::epochs(1);
  double lr = 0;
  Duration anneal = Duration::share(0.05);
  AnnealShape anneal_shape = AnnealShape::kCosine;

  bool enabled() const { return start.value > 0; }
};
template <class V>
void describe(V& v, SwaConfig& c) {
  v.field("start", c.start, "when the average begins: 0.75dur, 100ep; 0ba: no average");
  v.field("update_interval", c.update_interval, "how often the weights are added to it");
  v.field("lr", c.lr, "rate that is held from then on, in the place of optimizer.lr; 0: the schedule goes on", at_least(0));
  v.field("anneal", c.anneal, "how long the rate takes from where the schedule stood at the start to that one");
  v.field("anneal_shape", c.anneal_shape, "of the way there");
}

}  // namespace tessera
