// The main of every test program that uses libtorch: the CUDA plug-in must be there before the first tensor is made.
#include <gtest/gtest.h>

#include "tensor/device.h"

int main(int argc, char** argv) {
  tessera::load_cuda_plugin();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
