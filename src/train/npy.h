#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tessera {

// The content of a NumPy .npy file (format 1.0) holding a float32 tensor.
std::vector<uint8_t> encode_npy(const at::Tensor& tensor);

}  // namespace tessera
