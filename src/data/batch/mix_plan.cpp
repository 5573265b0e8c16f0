#include "data/batch/mix_plan.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

int64_t partner_of(int64_t position, int64_t batch_size) {
  const int64_t other = position ^ 1;
  return other < batch_size ? other : position - 1;
}

bool is_mixed(const SampleMix& mix) {
  return mix.share < 1 || mix.top < mix.bottom;
}

// Row of `position`, which becomes the last where there is none yet.
int64_t row_of(std::vector<int64_t>& positions, int64_t position) {
  const auto found = std::find(positions.begin(), positions.end(), position);
  const auto row = found - positions.begin();
  if (found == positions.end()) positions.push_back(position);
  return row;
}

}  // namespace

SampleMix draw_mix(const MixOptions& options, Rng rng) {
  SampleMix mix;
  const double which = rng.uniform();
  if (which < options.mixup.chance()) {
    const double z = rng.beta(options.mixup.alpha, options.mixup.alpha);
    mix.share = std::max(z, 1 - z);
  } else if (which < options.mixup.chance() + options.cutmix.chance()) {
    // A box of the image's ratio about a point anywhere in it; what lies outside is lost, as in the paper.
    const double kept = rng.beta(options.cutmix.alpha, options.cutmix.alpha), half = std::sqrt(1 - kept) / 2;
    const double y = rng.uniform(), x = rng.uniform();
    mix.top = std::max(0.0, y - half);
    mix.bottom = std::min(1.0, y + half);
    mix.left = std::max(0.0, x - half);
    mix.right = std::min(1.0, x + half);
  }
  return mix;
}

MixPlan plan_mixes(const MixOptions& options, uint64_t seed, int64_t step, std::vector<int64_t> positions, int64_t batch_size) {
  MixPlan plan{std::move(positions), {}};
  if (!options.any()) return plan;
  const size_t own = plan.positions.size();
  for (size_t i = 0; i < own; ++i) {
    const int64_t position = plan.positions[i];
    SampleMix mix = draw_mix(options, Rng(seed, Stream::kMix, static_cast<uint64_t>(step), static_cast<uint64_t>(position)));
    mix.partner = is_mixed(mix) ? row_of(plan.positions, partner_of(position, batch_size)) : static_cast<int64_t>(i);
    plan.mixes.push_back(mix);
  }
  return plan;
}

}  // namespace tessera
