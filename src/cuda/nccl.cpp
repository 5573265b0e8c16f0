// NCCL for the ranks of a world, offered to dist/.
#include <c10/cuda/CUDAFunctions.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "dist/world.h"

namespace tessera {

// Tests of single layers load the plug-in too, and have no dist/.
[[gnu::weak]] void register_nccl(BackendFactory factory);

namespace {

c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds timeout) {
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
}

const bool registered = [] {
  if (register_nccl != nullptr) register_nccl(make_nccl);
  return true;
}();

}  // namespace
}  // namespace tessera
