#pragma once
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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
  ~OpCounter();
  OpCounter(const OpCounter&) = delete;
  OpCounter& operator=(const OpCounter&) = delete;

  struct Watch;  // what the observer shares with it

 private:
  std::unique_ptr<Watch> watch_;
  uint64_t handle_;
};

}  // namespace tessera
