// The main of every test program that uses libtorch: before the first tensor is made, oneDNN must know what it may use, and the
// CUDA plug-in must be there.
#include <cstdlib>
#include <iostream>

#include "support/test_device.h"
#include "support/test_main.h"
#include "tensor/device.h"
#include "tensor/prepare_cpu.h"

int main(int argc, char** argv) {
  using namespace tessera;
  prepare_cpu();
  load_cuda_plugin();
  const bool has_gpu = cuda_plugin() != nullptr && !cuda_plugin()->gpus().empty();
  if (testing::test_device().is_cuda() && !has_gpu) {
    std::cerr << "these tests need a GPU: " << cuda_status() << '\n';
    return std::getenv("TESSERA_REQUIRE_GPU") != nullptr ? 1 : testing::kSkipped;
  }
  return testing::run_all_tests(argc, argv);
}
