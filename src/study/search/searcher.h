#pragma once
#include <memory>
#include <optional>

#include "study/trial.h"

namespace tessera {

// Note [Suggestions]
// What a searcher suggests is a function of the space, the seed, the trial's number and the trials it was told of, in whatever
// order that was: a controller that is started again tells it of the trials in the store, and gets the suggestion that the
// earlier controller got.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // The parameters of trial `number`. Nothing: there are no more, as at the end of a grid.
  virtual std::optional<Assignment> suggest(int64_t number) = 0;

  // How a trial stands: told when it begins, after reports if one likes, and when it ends. What was told of the number before
  // is replaced.
  virtual void observe(const Trial& trial) = 0;
};

}  // namespace tessera
