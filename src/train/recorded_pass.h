#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "tensor/device.h"

namespace tessera {

// Note [Recorded pass]
// A CPU needs some microseconds to send a kernel, so with small batches or models a GPU waits for it. The kernels of a pass are
// the same in every step, as long as its inputs have the same shapes: they are recorded once (a CUDA graph) and from then on
// sent as one. Recorded kernels read and write the addresses they were recorded with. So the inputs of each pass are copied to
// where those of the recorded one lay, what the pass changes (gradients, running averages) must lie in the arena, and nothing
// that differs from step to step may reach a kernel as a number of the host.
class RecordedPass {
 public:
  using Record = std::unique_ptr<RecordedWork> (*)(int device, const std::function<void()>& work);

  // record: null where passes are only run.
  RecordedPass(at::Device device, Record record) : device_(device), record_(record) {}

  // Does what `body` does. It reads the tensors that `inputs` point to, which are other ones while it is recorded, and returns
  // one tensor.
  at::Tensor run(const std::vector<at::Tensor*>& inputs, const std::function<at::Tensor()>& body);

  bool recorded() const { return work_ != nullptr; }
  void forget();  // frees the memory that recorded kernels keep
  void stop();    // from now on passes are only run

 private:
  bool has_shapes_of(const std::vector<at::Tensor*>& inputs) const;
  bool record(const std::vector<at::Tensor*>& inputs, const std::function<at::Tensor()>& body);

  at::Device device_;
  Record record_;
  std::unique_ptr<RecordedWork> work_;
  std::vector<at::Tensor> shapes_;  // of the last pass's inputs: tensors without memory
  std::vector<at::Tensor> inputs_;  // that recorded kernels read
  at::Tensor output_;
  int passes_ = 0;      // with inputs like these
  int recordings_ = 0;  // of all shapes, without those that have paid for themselves
  int replays_ = 0;     // of this recording
};

}  // namespace tessera
