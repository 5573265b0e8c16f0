#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/optim_config.h"
#include "optim/param_runs.h"

namespace tessera {

// What one step does to one run of parameters.
struct RunStep {
  int64_t begin = 0;
  int64_t end = 0;
  double lr = 0;  // with the run's multiplier
  double momentum = 0;
  double gradient_decay = 0;  // this times the weight is added to the gradient
  double shrink = 1;          // the weight is multiplied by this
};

// Updates the parameters of a model, which lie in one flat arena; gradients and the optimizer's own state are arenas of the
// same length. On a CPU it is one pass over memory, and as each value depends on its own gradient and state only, the number of
// threads does not change the result. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // params, grads: contiguous, of the length and type of the arena it was made for. lr: of this step, see lr_at; the head's
  // multiplier comes on top. momentum: replaces momentum (adam: beta 1) in this step, see momentum_at.
  void step(at::Tensor& params, const at::Tensor& grads, double lr, std::optional<double> momentum = std::nullopt);

  // The live arenas by name: read them to save a checkpoint, copy_ into them and set_step_count to restore one.
  const std::vector<std::pair<std::string, at::Tensor>>& state() const { return state_; }
  int64_t step_count() const { return step_count_; }
  void set_step_count(int64_t count) { step_count_ = count; }

 protected:
  Optimizer(const OptimizerConfig& config, const std::vector<ParamSpan>& spans, const at::Tensor& arena, bool fused);

  void add_state(const std::string& name);  // an arena of zeros
  at::Tensor& state_at(size_t index) { return state_[index].second; }

  // Both do the same to [run.begin, run.end) of the arenas: update_cpu in one loop, called on several threads for disjoint
  // ranges; update_tensors with tensor operations, for every other device. `step_count` counts this step already.
  virtual void update_cpu(at::Tensor& params, const at::Tensor& grads, const RunStep& run) = 0;
  virtual void update_tensors(at::Tensor& params, const at::Tensor& grads, const RunStep& run) = 0;

  OptimizerConfig config_;

 private:
  RunStep plan(const ParamRun& run, double lr, double momentum) const;
  void step_cpu(at::Tensor& params, const at::Tensor& grads, const std::vector<RunStep>& runs);

  std::vector<ParamRun> runs_;
  std::vector<std::pair<std::string, at::Tensor>> state_;
  at::Tensor empty_;  // type and device of the arena
  int64_t numel_;
  int64_t step_count_ = 0;
  bool fused_;
};

// arena: the parameters, for their length, type and device; float32 or float64. fused: false takes the tensor operations on a
// CPU too, as tests of them do. Throws Error for settings that contradict one another.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, const std::vector<ParamSpan>& spans,
                                          const at::Tensor& arena, bool fused = true);

}  // namespace tessera
