#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// `host` on `device`, without waiting for a GPU: a copy from pageable memory would wait for all that the GPU has to do.
inline at::Tensor upload(const at::Tensor& host, at::Device device) {
  if (!device.is_cuda() || !host.is_cpu()) return host.to(device);
  return host.pin_memory().to(device, /*non_blocking=*/true);
}

}  // namespace tessera
