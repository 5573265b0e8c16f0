#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/optim_config.h"

namespace tessera {

// Where a parameter lies in the arena and what the optimizer needs to know of it.
struct ParamSpan {
  std::string name;
  int64_t offset = 0;
  int64_t numel = 0;
  bool is_norm_or_bias = false;
  bool is_head = false;      // not of the backbone
  int64_t layers_above = 0;  // how far below the head it is, for layer-wise learning rates
  bool at_rest = false;      // is not trained at present: its weights stay, its gradients are 0
  int64_t begun_after = 0;   // steps of the run before it was trained, where it was at rest until then
};

// A stretch of the arena whose values are all updated alike.
struct ParamRange {
  int64_t begin = 0;
  int64_t end = 0;
  double lr_multiplier = 1;
  double weight_decay = 0;
  bool use_trust_ratio = false;  // lamb, lars: lengths go by those of its weights
  int64_t begun_after = 0;       // see ParamSpan
  friend bool operator==(const ParamRange&, const ParamRange&) = default;
};

// Throws UsageError where optimizer.lr_multipliers names a part that none of the spans is of. For all spans of a model: a slice
// of its arena need not have every part.
void check_parts(const std::vector<ParamSpan>& spans, const OptimizerConfig& config);

// The fewest ranges that cover the spans, which must be in order of offset and not overlap. Padding between two spans that are
// updated alike becomes part of their range: its gradients must be 0. lamb, lars: a range for each span, whose length they
// measure.
std::vector<ParamRange> make_ranges(const std::vector<ParamSpan>& spans, const OptimizerConfig& config);

}  // namespace tessera
