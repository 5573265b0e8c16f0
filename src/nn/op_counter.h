#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/op_observer.h"

namespace tessera {

// One operation of a forward pass; see Note [What is counted] in nn/summary.h.
struct CountedOp {
  std::string name;                 // "aten::convolution"
  std::vector<const void*> inputs;  // first element of every tensor it read: weights are recognised by it, views too
  std::vector<int64_t> output_shape;
  int64_t macs = 0;
  int64_t elementwise = 0;
};

// While it lives, calls `seen` for every counted operation of this thread, in order. Operations that run inside another counted
// one (a convolution inside a convolution's wrapper, a product inside a linear layer) are not reported a second time.
class OpCounter {
 public:
  explicit OpCounter(std::function<void(const CountedOp&)> seen);

 private:
  OpObserver::Finish begin(std::string_view name, OpValues inputs) const;

  std::function<void(const CountedOp&)> seen_;
  mutable int inside_ = 0;  // counted operations that are running
  OpObserver observer_;
};

}  // namespace tessera
