#include "optim/param_ranges.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/module_path.h"

namespace tessera {
namespace {

// The multiplier of the longest part that the name belongs to, else 1.
double part_multiplier(const std::string& name, const OptimizerConfig& config) {
  double multiplier = 1;
  size_t longest = 0;
  for (const auto& [part, factor] : config.lr_multipliers) {
    if (part.size() < longest || !is_part_of(name, part)) continue;
    longest = part.size();
    multiplier = factor;
  }
  return multiplier;
}

}  // namespace

void check_parts(const std::vector<ParamSpan>& spans, const OptimizerConfig& config) {
  for (const auto& [part, factor] : config.lr_multipliers) {
    if (!std::any_of(spans.begin(), spans.end(), [&](const ParamSpan& span) { return is_part_of(span.name, part); }))
      fail_usage("optimizer.lr_multipliers: '{}' is no part that is trained; `tessera models show` prints their names", part);
  }
}

std::vector<ParamRange> make_ranges(const std::vector<ParamSpan>& spans, const OptimizerConfig& config) {
  const bool by_tensor = config.type == OptimizerType::kLamb || config.type == OptimizerType::kLars;
  std::vector<ParamRange> ranges;
  int64_t end = 0;
  for (const ParamSpan& span : spans) {
    TSR_CHECK(span.offset >= end && span.numel > 0,
              "parameter '{}' at {} with {} values overlaps the one before, which ends at {}", span.name, span.offset,
              span.numel, end);
    end = span.offset + span.numel;
    const bool decays = config.decay_norm_and_bias || !span.is_norm_or_bias;
    const double multiplier = span.at_rest
                                  ? 0.0
                                  : (span.is_head ? config.head_lr_multiplier : 1.0) * part_multiplier(span.name, config) *
                                        std::pow(config.layer_decay, static_cast<double>(span.layers_above));
    const ParamRange range{span.offset,         end,
                           multiplier,          decays && !span.at_rest ? config.weight_decay : 0.0,
                           by_tensor && decays, span.begun_after};
    const bool joins = !by_tensor && !ranges.empty() && ranges.back().lr_multiplier == range.lr_multiplier &&
                       ranges.back().weight_decay == range.weight_decay && ranges.back().begun_after == range.begun_after;
    if (joins) {
      ranges.back().end = end;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

}  // namespace tessera
