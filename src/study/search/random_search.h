#pragma once
#include <map>
#include <string>

#include "core/rng.h"
#include "study/search/searcher.h"
#include "study/space/space.h"

namespace tessera {

// Every parameter drawn from its own distribution, whatever the other trials gave. Those that are `exhaustive` go through their
// values in turn instead, so that a multiple of their grid's size repeats the whole grid.
class RandomSearch final : public Searcher {
 public:
  RandomSearch(const Space& space, uint64_t seed) : space_(space), seed_(seed) {}

  std::optional<Assignment> suggest(int64_t number) override;
  void observe(const Trial& /*trial*/) override {}

 private:
  Space space_;
  uint64_t seed_;
};

// The values of the parameters that are `exhaustive`: trial `number`'s cell of their grid.
std::map<std::string, double> values_in_turn(const Space& space, int64_t number);

// The share (0..1) that number `number` of a study draws for a parameter.
double drawn_share(uint64_t seed, const std::string& parameter, int64_t number);

}  // namespace tessera
