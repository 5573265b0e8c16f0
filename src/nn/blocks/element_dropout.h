#pragma once
#include "nn/blocks/dropout.h"

namespace tessera {

// Drops single values (torch.nn.Dropout).
class ElementDropoutImpl : public RandomLayer {
 public:
  explicit ElementDropoutImpl(double rate) : rate_(rate) {}
  at::Tensor forward(const at::Tensor& x);
  bool drops() const { return is_training() && rate_ > 0; }

 private:
  double rate_;
};
TORCH_MODULE(ElementDropout);

}  // namespace tessera
