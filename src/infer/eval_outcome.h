#pragma once
#include <functional>

#include "core/error.h"
#include "dist/world.h"

namespace tessera {

// An evaluation that a rank could not finish; thrown on all of them, so that they go on alike.
class EvaluationFailed : public Error {
 public:
  using Error::Error;
};

// Does `work`, in which ranks do not wait for one another (or all know where one of them failed), and agrees on how it went.
// Where it failed on any rank all throw EvaluationFailed, and else, where it was stopped on one, PredictionStopped. Collective.
void finish_alike(World& world, const std::function<void()>& work);

}  // namespace tessera
