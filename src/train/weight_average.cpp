#include "train/weight_average.h"

#include <torch/types.h>

#include "core/error.h"
#include "infer/checkpoint/model_state.h"
#include "tensor/too_large.h"

namespace tessera {

WeightAverage::WeightAverage(bool on, SegmentationModel& model, Arena& arena, ShardedOptimizer& optimizer)
    : model_(model), arena_(arena), optimizer_(optimizer) {
  if (!on) return;
  params_ = at::zeros_like(optimizer.own_slice(arena.params()));
  buffers_ = at::zeros_like(arena.buffers());
}

void WeightAverage::begin() {
  const at::NoGradGuard no_grad;
  params_.copy_(optimizer_.own_slice(arena_.params()));
  buffers_.copy_(arena_.buffers());
  begun_ = true;
}

void WeightAverage::follow_buffers(double weight, const at::Tensor& clip_factor) {
  const at::NoGradGuard no_grad;
  if (buffers_.numel() > 0) at::where_out(buffers_, clip_factor.isfinite(), buffers_.lerp(arena_.buffers(), weight), buffers_);
}

std::vector<at::Tensor> WeightAverage::tensors() const {
  if (!params_.defined()) return {};
  return {params_, buffers_};
}

NamedTensors WeightAverage::state() {
  if (!begun_) return {};
  const auto scope = use();
  NamedTensors values = make_with_kept_memory([&] { return model_state(model_); });
  for (auto& entry : values) entry.second = entry.second.detach();  // stays with the average when the model's tensor goes back
  return values;
}

void WeightAverage::load(const NamedTensors& state, Communicator& communicator) {
  TSR_CHECK(params_.defined(),
            "the checkpoint has an average of the weights, but train.ema and train.swa are off: it is of another run");
  const at::NoGradGuard no_grad;
  const at::Tensor params = at::zeros_like(arena_.params()), buffers = at::zeros_like(arena_.buffers());
  if (communicator.rank() == 0) {
    const Scope scope(arena_, params, buffers);
    load_model_state(model_, state);
  }
  communicator.broadcast(params);
  communicator.broadcast(buffers);
  params_.copy_(optimizer_.own_slice(params));
  buffers_.copy_(buffers);
  begun_ = true;
}

int64_t WeightAverage::bytes() const {
  return params_.defined() ? static_cast<int64_t>(arena_.params().nbytes() + arena_.buffers().nbytes()) : 0;
}

std::unique_ptr<WeightAverage::Scope> WeightAverage::use() {
  TSR_CHECK(begun_, "the moving average of the weights has not begun");
  return std::make_unique<Scope>(arena_, optimizer_.whole(params_), buffers_);
}

WeightAverage::Scope::Scope(Arena& arena, const at::Tensor& params, const at::Tensor& buffers) : arena_(arena) {
  arena_.point_to(params, buffers);
}

WeightAverage::Scope::~Scope() {
  arena_.point_to(arena_.params(), arena_.buffers());
}

}  // namespace tessera
