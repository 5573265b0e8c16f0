#pragma once
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "config/guard_config.h"
#include "data/dataset.h"
#include "dist/world.h"
#include "tensor/download.h"
#include "train/hooks/run_events.h"
#include "train/kept_state.h"
#include "train/train_step.h"

namespace tessera {

// Note [Held steps]
// Whether a loss and its gradients are finite is known on the device, which then changes nothing: not in this step, nor in any
// after it, until the host takes that back (Note [Loss scaling on the device]). So the host may look late, without waiting for
// the step under way, and still find everything as it was before the step that went wrong. On a GPU it looks one step late. The
// gradient's norm is the same number on all ranks, so they all see it at the same step and do the same about it, without a
// word. Then they run that step once more and look at what each operation gives, to say where it began.

// Sees to steps whose numbers are not finite, and notes losses that stand out. One per rank; all ranks call the same.
class StepGuard {
 public:
  // step, world, names must outlive it. late: how many steps may be under way before one is looked at; in a run, see
  // late_by_device.
  StepGuard(const GuardConfig& config, TrainStep& step, World& world, const Dataset& names, int late);
  static int late_by_device(at::Device device) { return device.is_cuda() ? 1 : 0; }

  // After a step: what it came to is on its way to the host.
  void watch(const Batch& batch, const Progress& at, const StepResult& result);

  // A step that was held. Those after it were, too.
  struct Held {
    Batch batch;
    Progress at;
    double loss = 0, grad_norm = 0;
  };
  // The first of the steps watched that was held, if any. all: looks at those too that may still be under way. The events of
  // steps whose loss stands out are added to `spikes`.
  std::optional<Held> next_held(bool all, std::vector<GuardEvent>& spikes);

  // What went wrong in it: the rank, the layer, the samples. A collective.
  GuardEvent find_cause(const Held& held);

  // Leaves the step out: takes the steps after it again.
  void leave_out(const Held& held);

  // For guard.nonfinite=rollback: whether a copy of the state before the next step is due, with no step left to look at; and
  // takes it, also where the run was saved or evaluated just now: nothing of that is gone back from.
  bool keep_due(const TrainState& state) const;
  void keep(const TrainState& state);
  bool can_go_back(const Progress& at) const { return kept_ && at.step > repeat_end_ && kept_->state().step <= at.step; }
  // Puts the state back that was kept last, of which it returns where it stands. Steps are in fp32 up to and with the held one.
  TrainState go_back(const Held& held);

 private:
  struct Watched {
    Batch batch;
    Progress at;
    Download numbers;  // loss, norm of the gradient, whether it was held
  };
  bool stands_out(double loss);

  GuardConfig config_;
  TrainStep& step_;
  World& world_;
  const Dataset& names_;
  size_t late_;
  std::deque<Watched> watched_;
  std::deque<double> losses_;  // of the steps before
  bool high_ = false;          // the last loss stood out
  std::optional<KeptState> kept_;
  int64_t repeat_end_ = -1;  // last step that is taken in fp32
};

}  // namespace tessera
