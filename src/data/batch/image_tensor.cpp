#include "data/batch/image_tensor.h"

#include <torch/types.h>

#include <cstddef>
#include <cstring>

namespace tessera {

at::Tensor image_tensor(const Image& image) {
  return image_batch({&image}, at::kCPU);
}

at::Tensor image_batch(const std::vector<const Image*>& images, at::Device device) {
  const Image& first = *images.at(0);
  const auto options = torch::TensorOptions(first.is_bytes() ? torch::kUInt8 : torch::kFloat32).pinned_memory(device.is_cuda());
  at::Tensor result = torch::empty({std::ssize(images), first.height, first.width, first.channels}, options);
  const size_t bytes = result.nbytes() / images.size();
  auto* const to = static_cast<std::byte*>(result.mutable_data_ptr());
  for (size_t i = 0; bytes > 0 && i < images.size(); ++i) {
    const Image& image = *images[i];
    const void* from = image.is_bytes() ? static_cast<const void*>(image.bytes().data()) : image.floats().data();
    std::memcpy(to + i * bytes, from, bytes);
  }
  return result;
}

}  // namespace tessera
