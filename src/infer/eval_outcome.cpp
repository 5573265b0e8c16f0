#include "infer/eval_outcome.h"

#include <string>

#include "infer/predictor.h"
#include "infer/rank_consensus.h"
#include "tensor/error_text.h"

namespace tessera {
namespace {

// From good to bad: the worst of all ranks counts.
enum class Outcome { kWhole, kStopped, kFailed };

}  // namespace

void finish_alike(World& world, const std::function<void()>& work) {
  Outcome own = Outcome::kWhole;
  std::string failure = "another rank's images could not be evaluated; its own log says why";
  try {
    work();
  } catch (const PredictionStopped&) {
    own = Outcome::kStopped;
  } catch (const std::exception& e) {
    own = Outcome::kFailed;
    failure = error_text(e);
  }
  const auto worst = static_cast<Outcome>(max_over_ranks(world, static_cast<int>(own)));
  if (worst == Outcome::kFailed) throw EvaluationFailed(failure);
  if (worst == Outcome::kStopped) throw PredictionStopped();
}

}  // namespace tessera
