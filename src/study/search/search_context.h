#pragma once
#include <cstdint>
#include <vector>

#include "study/space/space.h"
#include "study/trial.h"

namespace tessera {

// What searchers know of a study besides their own settings.
struct SearchContext {
  Space space = {};
  std::vector<Direction> directions = {Direction::kMaximize};  // of the objectives, in their order; at least one
  uint64_t seed = 0;
};

}  // namespace tessera
