#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/optim_config.h"
#include "kernels/optimizer_step.h"
#include "optim/param_runs.h"

namespace tessera {

// Updates the parameters of a model, which lie in one flat arena; gradients and the optimizer's own state are arenas of the
// same length. sgd and adam are torch's (without dampening), adamw torch's too, decoupled_sgd Composer's DecoupledSGDW. It is
// one pass over memory, and as each value depends on its own gradient and state only, the number of threads does not change
// the result. Not thread-safe.
class Optimizer {
 public:
  // arena: the parameters, for their length, type and device; float32 or float64. fused: false takes tensor operations in
  // place of the kernel, as tests of them do. Throws Error for settings that contradict one another.
  Optimizer(const OptimizerConfig& config, const std::vector<ParamSpan>& spans, const at::Tensor& arena, bool fused = true);

  // params, grads: contiguous, of the length and type of the arena it was made for. lr: of this step, see lr_at; the head's
  // multiplier comes on top. momentum: replaces momentum (adam: beta 1) in this step, see momentum_at. factor: multiplies the
  // gradients, see GradientNorm; undefined: 1.
  void step(at::Tensor& params, const at::Tensor& grads, double lr, std::optional<double> momentum = std::nullopt,
            const at::Tensor& factor = {});

  // The live arenas by name (sgd: "momentum", none when that is 0; adam: "exp_avg", "exp_avg_sq"): read them to save a
  // checkpoint, copy_ into them and set_step_count to restore one.
  const std::vector<std::pair<std::string, at::Tensor>>& state() const { return state_; }
  int64_t step_count() const { return step_count_; }
  void set_step_count(int64_t count) { step_count_ = count; }

 private:
  UpdateRule rule() const;
  StepNumbers numbers(double lr, double momentum) const;  // `step_count` counts this step already

  OptimizerConfig config_;
  std::vector<ParamRun> runs_;
  std::vector<RunRates> rates_;
  RunTable table_;
  std::vector<std::pair<std::string, at::Tensor>> state_;
  at::Tensor empty_;  // type and device of the arena
  int64_t numel_;
  int64_t step_count_ = 0;
  bool fused_;
};

}  // namespace tessera
