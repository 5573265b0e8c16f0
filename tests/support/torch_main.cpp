// The main of every test program that uses libtorch: before the first tensor is made, oneDNN must know what it may use, and the
// CUDA plug-in must be there.
#include <gtest/gtest.h>

#include "tensor/device.h"
#include "tensor/prepare_cpu.h"

int main(int argc, char** argv) {
  tessera::prepare_cpu();
  tessera::load_cuda_plugin();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
