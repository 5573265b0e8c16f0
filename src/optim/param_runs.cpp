#include "optim/param_runs.h"

#include <cmath>

#include "core/error.h"

namespace tessera {

std::vector<ParamRun> make_runs(const std::vector<ParamSpan>& spans, const OptimizerConfig& config) {
  std::vector<ParamRun> runs;
  int64_t end = 0;
  for (const ParamSpan& span : spans) {
    TSR_CHECK(span.offset >= end && span.numel > 0,
              "parameter '{}' at {} with {} values overlaps the one before, which ends at {}", span.name, span.offset,
              span.numel, end);
    end = span.offset + span.numel;
    const bool decays = config.decay_norm_and_bias || !span.is_norm_or_bias;
    const double multiplier =
        (span.is_head ? config.head_lr_multiplier : 1.0) * std::pow(config.layer_decay, static_cast<double>(span.layers_above));
    const ParamRun run{span.offset, end, multiplier, decays ? config.weight_decay : 0.0};
    const bool joins =
        !runs.empty() && runs.back().lr_multiplier == run.lr_multiplier && runs.back().weight_decay == run.weight_decay;
    if (joins) {
      runs.back().end = end;
    } else {
      runs.push_back(run);
    }
  }
  return runs;
}

}  // namespace tessera
