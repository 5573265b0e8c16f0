#pragma once
#include <memory>
#include <optional>

#include "dist/communicator.h"
#include "optim/optimizer.h"
#include "weights/formats/safetensors.h"

namespace tessera {

// The optimizer as a rank of a world has it: of all parameters, or, sharded (ZeRO-1), of an equal slice of the arena per
// rank. Then each rank updates its slice, and the ranks hand one another the new parameters; the state takes 1 / ranks of
// the memory. What it computes is the same, and so are its checkpoints: `state` is the whole state.
class ShardedOptimizer {
 public:
  // lr: see Optimizer.
  ShardedOptimizer(const OptimizerConfig& config, const LrRange& lr, const std::vector<ParamSpan>& spans,
                   const at::Tensor& params, Communicator& communicator, bool sharded);

  // A collective when sharded. Arguments as Optimizer::step.
  // extras: average is of this rank's slice; copies are of the whole arena, and other slices' are left as they were.
  void step(at::Tensor& params, const at::Tensor& grads, const LrPoint& lr, std::optional<double> momentum,
            const StepExtras& extras);

  void set_spans(const std::vector<ParamSpan>& spans);  // of the whole arena, see Optimizer

  const std::vector<std::pair<std::string, at::Tensor>>& own_state() const { return optimizer_->state(); }  // of this rank
  NamedTensors state();                        // a collective when sharded
  void load_state(const NamedTensors& state);  // rank 0's, on all ranks: a collective. Throws Error for one of another model
  int64_t state_bytes() const;                 // of the whole state

  bool sharded() const { return sharded_; }
  at::Tensor own_slice(const at::Tensor& arena) const { return arena.narrow(0, begin_, end_ - begin_); }
  at::Tensor whole(const at::Tensor& slice);  // of the slices of all ranks: a collective when sharded, else what is given

  int64_t step_count() const { return optimizer_->step_count(); }
  void set_step_count(int64_t count) { optimizer_->set_step_count(count); }

 private:
  void sum_norms(at::Tensor& norms);

  Communicator& communicator_;
  bool sharded_;
  int64_t numel_, slice_, begin_, end_;
  int64_t num_spans_, first_span_;  // all, and the first one that reaches into this rank's slice
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace tessera
