#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/optim_config.h"
#include "kernels/update/optimizer_step.h"
#include "optim/param_ranges.h"
#include "optim/schedule.h"

namespace tessera {

// The tensors that a step takes and writes beside weights, gradients and its own state. All of them may be left out.
struct StepExtras {
  GradientScale scale = {};  // see clip_grad_norm
  at::Tensor average = {};   // moving average of the parameters, in which the new ones get average_weight
  double average_weight = 0;
  at::Tensor copies = {};  // of the parameters in bf16 or half
};

// Updates the parameters of a model, which lie in one flat arena; gradients and the optimizer's own state are arenas of the
// same length. sgd and adam are torch's (without dampening), adamw torch's too, decoupled_sgd Composer's DecoupledSGDW, lamb
// and lars are in Note [LAMB] and Note [LARS], lion is that of its paper. It is one pass over memory (lamb, lars: two), and the
// number of threads does not change the result. Not thread-safe.
class Optimizer {
 public:
  // lr: see lr_range; config.lr is not read. arena: the parameters, for their length, type and device; float32 or float64.
  // fused: false takes tensor operations in place of the kernel, as tests of them do. Throws UsageError for settings that
  // contradict one another.
  Optimizer(const OptimizerConfig& config, const LrRange& lr, const std::vector<ParamSpan>& spans, const at::Tensor& arena,
            bool fused = true);

  // The same spans, of which others may be at rest now. The state of those that are is 0 from then on: what trains again begins
  // as if it had just been added.
  void set_spans(const std::vector<ParamSpan>& spans);

  // params, grads: contiguous, of the length and type of the arena it was made for. lr: of this step, see lr_point_at.
  // momentum: replaces momentum (adam, lamb, lion: beta 1) in this step, see momentum_at.
  void step(at::Tensor& params, const at::Tensor& grads, const LrPoint& lr, std::optional<double> momentum = std::nullopt,
            const StepExtras& extras = {});

  // Serves an arena that is a slice of a larger one: `sum`, which is called once in each step, makes the sums of squares (lamb,
  // lars) of each span, (spans, 2), those of whole tensors.
  void on_norms(std::function<void(at::Tensor& norms)> sum) { sum_norms_ = std::move(sum); }

  // The live arenas by name (sgd: "momentum", none when that is 0; lars: "momentum"; adam, lamb: "exp_avg", "exp_avg_sq"; lion:
  // "exp_avg"): read them to save a checkpoint, copy_ into them and set_step_count to restore one.
  const std::vector<std::pair<std::string, at::Tensor>>& state() const { return state_; }
  // Where steps may be skipped on the device, it is the scaling that counts those that were not.
  int64_t step_count() const { return step_count_; }
  void set_step_count(int64_t count) { step_count_ = count; }

 private:
  UpdateRule rule() const;
  StepNumbers numbers(const LrPoint& lr, double momentum) const;  // `step_count` counts this step already
  void step_with_tensors(const StepArenas& arenas, const GradientScale& scale, StepNumbers numbers);

  OptimizerConfig config_;
  LrRange lr_;
  std::vector<ParamRange> ranges_;
  std::vector<RangeRates> rates_;
  RangeTable table_;
  std::vector<std::pair<std::string, at::Tensor>> state_;
  at::Tensor empty_;  // type and device of the arena
  int64_t numel_;
  int64_t step_count_ = 0;
  bool fused_;
  std::function<void(at::Tensor&)> sum_norms_;
};

}  // namespace tessera
