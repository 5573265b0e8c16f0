#include "train/kept_state.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace tessera {

std::vector<at::Tensor> KeptState::changed_tensors(TrainStep& step) {
  std::vector<at::Tensor> tensors{step.arena().params(), step.arena().buffers(), step.scaler().numbers()};
  for (const auto& entry : step.optimizer().own_state()) tensors.push_back(entry.second);
  for (const at::Tensor& tensor : step.average().tensors()) tensors.push_back(tensor);
  return tensors;
}

KeptState::KeptState(TrainStep& step, const TrainState& state)
    : state_(state), average_begun_(step.average().begun()), step_count_(step.optimizer().step_count()) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& tensor : changed_tensors(step)) copies_.push_back(tensor.to(at::kCPU, false, /*copy=*/true));
}

void KeptState::put_back(TrainStep& step) const {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> tensors = changed_tensors(step);
  TSR_CHECK(tensors.size() == copies_.size(), "{} tensors were kept, the step has {}", copies_.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].copy_(copies_[i]);
  step.average().set_begun(average_begun_);
  step.optimizer().set_step_count(step_count_);
}

}  // namespace tessera
