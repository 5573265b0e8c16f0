#pragma once
#include <vector>

#include "infer/checkpoint/checkpoint.h"
#include "train/train_step.h"

namespace tessera {

// A copy, in the host's memory, of all that the steps of a rank change: weights, batch norm's statistics, its part of the
// optimizer's state and of the average, the numbers on the device, and where the run stands.
class KeptState {
 public:
  KeptState(TrainStep& step, const TrainState& state);

  const TrainState& state() const { return state_; }
  void put_back(TrainStep& step) const;  // in place: what points into these tensors goes on to

 private:
  static std::vector<at::Tensor> changed_tensors(TrainStep& step);

  TrainState state_;
  std::vector<at::Tensor> copies_;
  bool average_begun_;
  int64_t step_count_;
};

}  // namespace tessera
