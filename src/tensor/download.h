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
    device_ = tensors_[0].device();
    if (side_by_side()) {
      copy_together();
    } else {
      for (at::Tensor& tensor : tensors_) tensor = begin_copy(tensor);
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
  static at::Tensor begin_copy(const at::Tensor& tensor) {
    const at::Tensor host = at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
    host.copy_(tensor, /*non_blocking=*/true);
    return host;
  }

  // Whether they are pieces of one tensor, such as the images of a batch, in their order.
  bool side_by_side() const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (!tensors_[i].is_contiguous()) return false;
      if (i == 0) continue;
      const at::Tensor& before = tensors_[i - 1];
      if (!tensors_[i].is_alias_of(before) || tensors_[i].scalar_type() != before.scalar_type() ||
          tensors_[i].storage_offset() != before.storage_offset() + before.numel())
        return false;
    }
    return true;
  }

  void copy_together() {
    int64_t numel = 0;
    for (const at::Tensor& tensor : tensors_) numel += tensor.numel();
    const at::Tensor host = begin_copy(tensors_[0].as_strided({numel}, {1}));
    int64_t offset = 0;
    for (at::Tensor& tensor : tensors_) {
      const int64_t own = tensor.numel();
      tensor = host.narrow(0, offset, own).view(tensor.sizes());
      offset += own;
    }
  }

  std::vector<at::Tensor> tensors_;
  at::Device device_ = at::kCPU;
  std::shared_ptr<c10::Event> copied_;
};

}  // namespace tessera
