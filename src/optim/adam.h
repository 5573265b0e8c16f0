#pragma once
#include "optim/optimizer.h"

namespace tessera {

// torch.optim.Adam, and with decay on the weights torch.optim.AdamW. State: "exp_avg", "exp_avg_sq".
class Adam final : public Optimizer {
 public:
  Adam(const OptimizerConfig& config, const std::vector<ParamSpan>& spans, const at::Tensor& arena, bool fused);

 private:
  void update_cpu(at::Tensor& params, const at::Tensor& grads, const RunStep& run) override;
  void update_tensors(at::Tensor& params, const at::Tensor& grads, const RunStep& run) override;
};

}  // namespace tessera
