#include "study/search/sobol_search.h"

#include "core/error.h"
#include "study/search/sobol.h"

namespace tessera {

SobolSearch::SobolSearch(const Space& space, uint64_t seed) : space_(space), seed_(seed) {
  TSR_CHECK_USAGE(space.parameters().size() <= static_cast<size_t>(kMaxSobolDimensions),
                  "sobol search: {} parameters are more than {}; use search: random or tpe", space.parameters().size(),
                  kMaxSobolDimensions);
}

double sobol_share(uint64_t seed, int dimension, int64_t number) {
  const uint32_t bits = owen_scramble(sobol_bits(static_cast<uint32_t>(number), dimension), seed, dimension);
  return (static_cast<double>(bits) + 0.5) * 0x1p-32;
}

std::optional<Assignment> SobolSearch::suggest(int64_t number) {
  Assignment point;
  int dimension = 0;
  for (const Parameter& parameter : space_.parameters()) {
    if (space_.is_active(parameter, point)) point[parameter.name] = parameter.at_share(sobol_share(seed_, dimension, number));
    ++dimension;
  }
  return point;
}

}  // namespace tessera
