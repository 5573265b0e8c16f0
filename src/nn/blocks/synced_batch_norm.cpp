#include "nn/blocks/synced_batch_norm.h"

#include <torch/types.h>

namespace tessera {
namespace {

// Spread units: rows of the exchange that segments of a pass have a part in.
struct SpreadUnits {
  std::vector<NormSegment> segments;
  int64_t rows;
  int64_t pixels;  // of a sample
  NormExchange* exchange;

  // Adds up what each part has of its unit and hands everyone the unit's mean: `pairs` are (G, 2, C) means over the parts.
  void average(at::Tensor& pairs) const {
    at::Tensor sums = at::zeros({rows, 2, pairs.size(2)}, pairs.options());
    for (size_t i = 0; i < segments.size(); ++i) {
      const NormSegment& segment = segments[i];
      if (segment.row < 0 || !segment.counts) continue;
      sums[segment.row].add_(pairs[static_cast<int64_t>(i)], static_cast<double>((segment.end - segment.begin) * pixels));
    }
    exchange->sum(sums);
    for (size_t i = 0; i < segments.size(); ++i) {
      const NormSegment& segment = segments[i];
      if (segment.row < 0) continue;
      pairs[static_cast<int64_t>(i)].copy_(sums[segment.row] / static_cast<double>(segment.unit_size * pixels));
    }
  }
};

}  // namespace

void synchronise_units(const at::Tensor& x, const std::vector<NormSegment>& segments, const StepContext& context,
                       at::Tensor& moments, NormActOptions& options) {
  const SpreadUnits units{segments, context.norm_rows, x.size(2) * x.size(3), context.exchange};
  // A unit's mean of squares is that of its parts; its variance is not.
  at::Tensor squares = moments.clone();
  squares.select(1, 1).add_(moments.select(1, 0).square());
  units.average(squares);
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].row < 0) continue;
    const auto group = static_cast<int64_t>(i);
    moments[group][0].copy_(squares[group][0]);
    moments[group][1].copy_((squares[group][1] - squares[group][0].square()).clamp_min(0));
    if (!segments[i].counts) options.masked_groups.push_back(group);
  }
  options.exchange = [units](at::Tensor& means) { units.average(means); };
}

}  // namespace tessera
