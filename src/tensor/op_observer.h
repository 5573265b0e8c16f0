#pragma once
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace tessera {

using OpValues = c10::ArrayRef<const c10::IValue>;

// While it lives, tells of the operations that libtorch's dispatcher runs, those inside other ones too. One per thread with
// kThis, one per process with kAll; then calls may come from several threads at a time.
class OpObserver {
 public:
  using Finish = std::function<void(OpValues outputs)>;  // without outputs where the operation failed
  // Called when an operation begins, with its name ("aten::convolution") and arguments, which may be gone when it ends. What it
  // returns, unless empty, is called then.
  using Start = std::function<Finish(std::string_view name, OpValues inputs)>;
  enum class Threads { kThis, kAll };

  OpObserver(Threads threads, Start start);
  ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

 private:
  Threads threads_;
  uint64_t handle_;
};

// Multiplications, each with its addition, of a convolution or a matrix product: known from the inputs, or so many for each
// value of the output.
struct ProductMacs {
  int64_t from_inputs = 0, per_output = 0;

  int64_t total(int64_t outputs) const { return from_inputs + per_output * outputs; }
};
ProductMacs convolution_macs(const at::Tensor& input, const at::Tensor& weight, bool transposed);
ProductMacs matmul_macs(const at::Tensor& left);

}  // namespace tessera
