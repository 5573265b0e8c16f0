#include "study/search/random_search.h"

#include "core/name_hash.h"

namespace tessera {

double drawn_share(uint64_t seed, const std::string& parameter, int64_t number) {
  return Rng(seed, Stream::kStudy, name_hash(parameter), static_cast<uint64_t>(number)).uniform();
}

std::map<std::string, double> values_in_turn(const Space& space, int64_t number) {
  std::map<std::string, double> values;
  for (const Parameter& parameter : space.parameters()) {
    if (!parameter.exhaustive) continue;
    values[parameter.name] = static_cast<double>(number % parameter.cardinality());
    number /= parameter.cardinality();
  }
  return values;
}

std::optional<Assignment> RandomSearch::suggest(int64_t number) {
  Assignment point;
  const std::map<std::string, double> in_turn = values_in_turn(space_, number);
  for (const Parameter& parameter : space_.parameters()) {
    const auto turn = in_turn.find(parameter.name);
    const double value = turn != in_turn.end() ? turn->second : parameter.at_share(drawn_share(seed_, parameter.name, number));
    if (space_.is_active(parameter, point)) point[parameter.name] = value;
  }
  return point;
}

}  // namespace tessera
