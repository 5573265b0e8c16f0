#pragma once
#include "study/search/searcher.h"
#include "study/space/space.h"

namespace tessera {

// The points of Sobol's sequence, scrambled by the seed: any first 2^k of them fill the space more evenly than random ones. A
// dimension for each parameter, in use or not.
class SobolSearch final : public Searcher {
 public:
  SobolSearch(const Space& space, uint64_t seed);

  std::optional<Assignment> suggest(int64_t number) override;
  void observe(const Trial& /*trial*/) override {}

 private:
  Space space_;
  uint64_t seed_;
};

// Coordinate `dimension` of point `number` of the sequence that the seed scrambles, between 0 and 1.
double sobol_share(uint64_t seed, int dimension, int64_t number);

}  // namespace tessera
