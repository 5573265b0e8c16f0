#include "study/search/random_search.h"

#include "core/name_hash.h"

namespace tessera {

double drawn_share(uint64_t seed, const std::string& parameter, int64_t number) {
  return Rng(seed, Stream::kStudy, name_hash(parameter), static_cast<uint64_t>(number)).uniform();
}

std::optional<Assignment> RandomSearch::suggest(int64_t number) {
  Assignment point;
  int64_t cell = number;
  for (const Parameter& parameter : space_.parameters()) {
    double value = 0;
    if (parameter.exhaustive) {
      value = static_cast<double>(cell % parameter.cardinality());
      cell /= parameter.cardinality();
    } else {
      value = parameter.at_share(drawn_share(seed_, parameter.name, number));
    }
    if (space_.is_active(parameter, point)) point[parameter.name] = value;
  }
  return point;
}

}  // namespace tessera
