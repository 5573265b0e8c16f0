// The tests of kernels/ against the CUDA kernels of cuda/, on the CPU.
#define TESSERA_CUDA_ON_CPU
#include <gtest/gtest.h>

#include "support/cuda_on_cpu.h"
#include "support/test_main.h"
#include "tensor/prepare_cpu.h"

int main(int argc, char** argv) {
  tessera::prepare_cpu();
  tessera::on_cpu::use_cuda_kernels();
  // There is one thread; and fibers for millions of rows would take half a minute.
  testing::GTEST_FLAG(filter) = "-*OnAnyNumberOfThreads:*MillionsOfRows:*Gpu.*";
  return tessera::testing::run_all_tests(argc, argv);
}
