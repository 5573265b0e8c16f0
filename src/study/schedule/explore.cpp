#include "study/schedule/explore.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kUp = 1.2, kDown = 0.8;

double perturbed(const Parameter& parameter, double value, bool up) {
  if (parameter.kind == Parameter::Kind::kChoice) return parameter.snapped(value + (up ? 1 : -1));
  const double scaled = value * (up ? kUp : kDown), snapped = parameter.snapped(scaled);
  if (parameter.step <= 0 || snapped != value) return snapped;
  return parameter.snapped(value + (scaled < value ? -parameter.step : parameter.step));
}

}  // namespace

Assignment explore(const Space& space, const Assignment& parameters, const PopulationConfig& config, Rng rng) {
  Assignment explored;
  for (const Parameter& parameter : space.parameters()) {
    // Always the same number of draws, so that one parameter does not change what happens to the others.
    const bool drawn = rng.uniform() < config.resample, up = rng.chance(0.5);
    const double share = rng.uniform();
    if (!space.is_active(parameter, explored)) continue;
    const auto value = parameters.find(parameter.name);
    const bool may_change =
        config.mutate.empty() || std::find(config.mutate.begin(), config.mutate.end(), parameter.name) != config.mutate.end();
    if (value == parameters.end()) {
      explored[parameter.name] = parameter.at_share(share);
    } else if (!may_change) {
      explored[parameter.name] = value->second;
    } else {
      explored[parameter.name] = drawn ? parameter.at_share(share) : perturbed(parameter, value->second, up);
    }
  }
  return explored;
}

}  // namespace tessera
