#pragma once
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>
#include <vector>

namespace tessera {

// Tensors of one device on their way to the CPU. A GPU goes on with what it is given next: `wait` waits for what was before
// this alone, unlike .cpu(), which waits for everything.
class Download {
 public:
  Download() = default;
  explicit Download(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {
    if (tensors_.empty() || tensors_[0].is_cpu()) return;
    for (at::Tensor& tensor : tensors_) {
      const at::Tensor host = at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
      host.copy_(tensor, /*non_blocking=*/true);
      device_ = tensor.device();
      tensor = host;
    }
    copied_ = std::make_shared<c10::Event>(device_.type());
    copied_->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }

  const std::vector<at::Tensor>& wait() {
    if (copied_) copied_->synchronize();
    copied_.reset();
    return tensors_;
  }

 private:
  std::vector<at::Tensor> tensors_;
  at::Device device_ = at::kCPU;
  std::shared_ptr<c10::Event> copied_;
};

}  // namespace tessera
