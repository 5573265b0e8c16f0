#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "config/train_config.h"
#include "train/arena.h"

namespace tessera {

// Note [Working weights]
// In bf16 and fp16, convolutions and matrix products read half-precision copies of the float32 weights. Autocast would make a
// copy for each layer and turn each gradient back, hundreds of small launches in a step. Here the
// optimizer writes all copies beside the weights (at the start, a pass of its own); while a step computes, the weights of these
// layers are the copies, autograd leaves each gradient where it was computed, and a few launches collect them in the arena. The
// numbers are those of autocast.
class WorkingWeights {
 public:
  // `model` and `arena` must outlive it. For precisions without autocast the weights stay, and only gradients are collected.
  WorkingWeights(SegmentationModel& model, Arena& arena, Precision precision);

  // In its scope the parameters are working weights without gradients; behind it they are views of the arena again.
  class Scope {
   public:
    explicit Scope(WorkingWeights& weights);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WorkingWeights& weights_;
  };

  // For the optimizer, which writes the new weights there in its pass over memory; undefined where there are no copies. Then
  // tell so: the next scope takes them as they are, unless the arena was changed in between.
  const at::Tensor& copies() const { return copies_; }
  void copies_written();
  void follow();  // for those who change the arena's weights in a scope: the copies are theirs from now on

  void use_copies(bool on) { use_copies_ = on; }  // else scopes leave the weights as they are; between two of them

  void forget();  // gradients of a pass that is done again
  // Moves the gradients of the parameters that lie within [begin, end) of the arena there.
  void collect(int64_t begin, int64_t end, bool add);
  void collect(bool add) { collect(0, arena_.grads().numel(), add); }
  // The same for all, after the only pass of a step: what has no gradient gets 0, so that the arena need not be cleared before.
  void collect_only_pass();

 private:
  struct Place {
    at::Tensor parameter;
    at::Tensor home, grad;  // in the arena
    at::Tensor copy;        // undefined: computes with the one at home
    int64_t offset = 0, numel = 0;
  };

  Arena& arena_;
  at::Tensor copies_;  // of the whole arena
  bool use_copies_ = true;
  int64_t written_version_ = -1;  // of the arena's parameters, when the copies were last theirs
  std::vector<Place> places_;
};

}  // namespace tessera
