#pragma once
#include <memory>

#include "train/arena.h"
#include "train/sharded_optimizer.h"

namespace tessera {

// Note [Moving average]
// train.ema keeps an exponential moving average of parameters and buffers beside the ones that are trained, train.swa a plain
// one (Note [SWA]): two more flat arenas. That of the parameters is updated by the optimizer's own pass over memory, of this
// rank's slice with ZeRO-1; that of the buffers, a few kilobytes, behind it. Evaluation computes with the average: the model's
// tensors are pointed at it and back. Checkpoints hold both, by the same names.
class WeightAverage {
 public:
  // `model`, `arena` and `optimizer` must outlive it. Without one of them (`on`) it holds nothing.
  WeightAverage(bool on, SegmentationModel& model, Arena& arena, ShardedOptimizer& optimizer);

  bool begun() const { return begun_; }  // else there is no average yet
  void begin();                          // as a copy of the weights and buffers as they are

  void set_begun(bool begun) { begun_ = begun; }  // by who puts the tensors back

  const at::Tensor& params() const { return params_; }  // this rank's slice
  at::Tensor& buffers() { return buffers_; }
  std::vector<at::Tensor> tensors() const;  // that steps change; none where it holds nothing
  // After a step: the new buffers get this weight, unless its clip factor is not finite.
  void follow_buffers(double weight, const at::Tensor& clip_factor);

  // All of the model, as model_state names it; none when it has not begun. Collectives when sharded.
  NamedTensors state();
  // rank 0's, on all ranks: a collective. Throws Error for one of another model.
  void load(const NamedTensors& state, Communicator& communicator);
  int64_t bytes() const;  // of the whole average

  // While it lives, the model computes with the average; a collective when sharded. It must have begun.
  class Scope {
   public:
    Scope(Arena& arena, const at::Tensor& params, const at::Tensor& buffers);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
  };
  std::unique_ptr<Scope> use();

 private:
  SegmentationModel& model_;
  Arena& arena_;
  ShardedOptimizer& optimizer_;
  at::Tensor params_, buffers_;  // undefined where it holds nothing
  bool begun_ = false;
};

}  // namespace tessera
