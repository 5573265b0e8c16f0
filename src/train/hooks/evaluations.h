#pragma once
#include "core/access.h"
#include "train/hooks/hook.h"

namespace tessera {

// RUN/evaluations/{best,last}.json: what was counted in each image, for `tessera compare`. A file that cannot be written is a
// warning: the run does not need it.
class EvaluationsHook : public Hook {
 public:
  void on_start(const RunInfo& info) override;
  void on_eval(const TrainState& state, double epoch, const EvalResult& result) override;

 private:
  std::filesystem::path folder_;
  Access access_ = Access::kUmask;
  ClassTable classes_;
};

}  // namespace tessera
