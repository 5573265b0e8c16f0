#pragma once
#include "optim/optimizer.h"

namespace tessera {

// torch.optim.SGD without dampening, and with decay on the weights Composer's DecoupledSGDW. State: "momentum" (none when
// momentum is 0).
class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerConfig& config, const std::vector<ParamSpan>& spans, const at::Tensor& arena, bool fused);

 private:
  void update_cpu(at::Tensor& params, const at::Tensor& grads, const RunStep& run) override;
  void update_tensors(at::Tensor& params, const at::Tensor& grads, const RunStep& run) override;
};

}  // namespace tessera
