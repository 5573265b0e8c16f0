#include "data/batch/stored_pixels.h"

#include <torch/types.h>

#include <array>

namespace tessera {

at::Tensor stored_tensor(std::shared_ptr<const StoredImage> image) {
  const at::ScalarType type = std::array{at::kByte, at::kFloat, at::kUInt16}.at(image->pixels.index());
  const auto* data = std::visit([](const auto& pixels) { return static_cast<const void*>(pixels.data()); }, image->pixels);
  const std::vector<int64_t> sizes{1, image->height, image->width, image->channels};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): libtorch has no tensor of constants
  return torch::from_blob(
      const_cast<void*>(data), sizes, [image](void*) {}, at::TensorOptions(type));
}

at::Tensor network_pixels(const at::Tensor& stored, int64_t channels) {
  at::Tensor pixels = stored;
  if (stored.size(3) > channels) pixels = stored.narrow(3, 0, channels);  // alpha is dropped
  if (stored.size(3) < channels) pixels = stored.narrow(3, 0, 1);         // grey, perhaps with alpha, is repeated
  if (pixels.scalar_type() == at::kUInt16) pixels = pixels.to(at::kFloat);
  return pixels.expand({-1, -1, -1, channels}).contiguous();
}

}  // namespace tessera
