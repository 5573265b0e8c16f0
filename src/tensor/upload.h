#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <vector>

namespace tessera {

// `host` on `device`, without waiting for a GPU: a copy from pageable memory would wait for all that the GPU has to do.
inline at::Tensor upload(const at::Tensor& host, at::Device device) {
  if (!device.is_cuda() || !host.is_cpu()) return host.to(device);
  return host.pin_memory().to(device, /*non_blocking=*/true);
}

// The same of several tensors, joined along their first dimension on the way.
inline at::Tensor upload_joined(const std::vector<at::Tensor>& host, at::Device device) {
  if (!device.is_cuda() || !host.at(0).is_cpu()) return at::cat(host).to(device);
  std::vector<int64_t> size = host[0].sizes().vec();
  for (size_t i = 1; i < host.size(); ++i) size[0] += host[i].size(0);
  at::Tensor pinned = at::empty(size, host[0].options().pinned_memory(true));
  at::cat_out(pinned, host);
  return pinned.to(device, /*non_blocking=*/true);
}

}  // namespace tessera
