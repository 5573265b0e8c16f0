#include "nn/blocks/dropout.h"

#include <torch/types.h>

#include "core/error.h"
#include "kernels/common/dropout_mask.h"
#include "tensor/step_context.h"

namespace tessera {

at::Tensor RandomLayer::factors(const at::Tensor& x, int64_t per_sample, double rate) const {
  const StepContext& context = step_context();
  TSR_CHECK(context.sample_keys.defined() && context.sample_keys.size(0) == x.size(0),
            "dropout in training needs the keys of its {} samples: run the forward pass inside a StepContextGuard", x.size(0));
  return dropout_mask(context.sample_keys, per_sample, rate, layer).to(x.scalar_type());
}

at::Tensor ChannelDropoutImpl::forward(const at::Tensor& x) {
  if (!is_training() || rate_ == 0) return x;
  return x * factors(x, x.size(1), rate_).view({x.size(0), x.size(1), 1, 1});
}

at::Tensor DropPathImpl::forward(const at::Tensor& x) {
  if (!is_training() || rate_ == 0) return x;
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[0] = x.size(0);
  return x * factors(x, 1, rate_).view(shape);
}

void number_random_layers(torch::nn::Module& model) {
  uint32_t next = 0;
  for (const auto& module : model.modules()) {
    if (auto* random = dynamic_cast<RandomLayer*>(module.get())) random->layer = next++;
  }
}

}  // namespace tessera
