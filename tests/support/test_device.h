#pragma once
#include <c10/core/Device.h>

#include <cstdlib>
#include <string_view>

namespace tessera::testing {

// Where the tests of kernels compute: the CPU, or with TESSERA_TEST_DEVICE=cuda the GPU.
inline at::Device test_device() {
  const char* const name = std::getenv("TESSERA_TEST_DEVICE");
  return name != nullptr && std::string_view(name) == "cuda" ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
}

}  // namespace tessera::testing
