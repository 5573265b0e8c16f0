#include "study/search/sobol_search.h"

#include "core/error.h"
#include "study/search/sobol.h"

namespace tessera {

SobolSearch::SobolSearch(const Space& space, uint64_t seed) : space_(space), seed_(seed) {
  TSR_CHECK_USAGE(space.parameters().size() <= static_cast<size_t>(kMaxSobolDimensions),
                  "sobol search: {} parameters are more than {}; use search: random or tpe", space.parameters().size(),
                  kMaxSobolDimensions);
}

std::optional<Assignment> SobolSearch::suggest(int64_t number) {
  Assignment point;
  int dimension = 0;
  for (const Parameter& parameter : space_.parameters()) {
    const uint32_t bits = owen_scramble(sobol_bits(static_cast<uint32_t>(number), dimension), seed_, dimension);
    const double share = (static_cast<double>(bits) + 0.5) * 0x1p-32;
    if (space_.is_active(parameter, point)) point[parameter.name] = parameter.at_share(share);
    ++dimension;
  }
  return point;
}

}  // namespace tessera
