#pragma once
#include "config/duration.h"
#include "config/schema.h"

namespace tessera {

// An exponential moving average of the weights and of batch norm's statistics, updated after every `update_interval`:
// average <- s * average + (1 - s) * weights. s is `smoothing`, or 2^(-update_interval / half_life); with `warmup` at most
// (1 + t) / (10 + t) after t updates, so that the weights it began with are soon forgotten.
struct EmaConfig {
  Duration half_life;
  double smoothing = 0;
  Duration update_interval = Duration::batches(1);
  Duration start;
  bool warmup = false;

  bool enabled() const { return half_life.value > 0 || smoothing > 0; }
};
template <class V>
void describe(V& v, EmaConfig& c) {
  v.field("half_life", c.half_life, "after this long a weight's old value has half its say: 1000ba, 2ep; 0ba: no average");
  v.field("smoothing", c.smoothing, "in place of half_life: share of the average that an update keeps, 0.999; 0: no average",
          between(0, 1));
  v.field("update_interval", c.update_interval, "how often the average is updated");
  v.field("start", c.start, "when the average begins, as a copy of the weights");
  v.field(
      "warmup", c.warmup,
      "update t (0 is the first) keeps at most (1 + t) / (10 + t) of the average, so that it soon forgets what it began with");
}

}  // namespace tessera
