#pragma once
#include <map>
#include <mutex>
#include <utility>

#include "tensor/upload.h"

namespace tessera {

// A tensor that never changes, on whatever device it is asked for; it travels there once. Threads may share one.
class Constant {
 public:
  Constant() = default;
  explicit Constant(at::Tensor host) : host_(std::move(host)) {}
  Constant(const Constant&) = delete;
  Constant& operator=(const Constant&) = delete;

  // Undefined where there is none.
  at::Tensor on(at::Device device) const {
    if (!device.is_cuda() || !host_.defined()) return host_;
    const std::scoped_lock lock(mutex_);
    at::Tensor& there = copies_[device.index()];
    if (!there.defined()) there = upload(host_, device);
    return there;
  }

 private:
  at::Tensor host_;
  mutable std::mutex mutex_;
  mutable std::map<c10::DeviceIndex, at::Tensor> copies_;
};

}  // namespace tessera
