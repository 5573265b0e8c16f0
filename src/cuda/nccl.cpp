// NCCL for the ranks of a world, offered to dist/.
#include <c10/cuda/CUDAFunctions.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "dist/world.h"

namespace tessera {

// Tests of single layers load the plug-in too, and have no dist/.
[[gnu::weak]] void register_nccl(BackendFactory factory);

namespace {

// Ranks abort where they are to meet again (Note [Meeting again] in dist/world.h). What libtorch's watchdog of the connections
// then finds in them, or has just found because another rank was quicker, is no reason to end the process, as it otherwise is.
class RankNccl final : public c10d::ProcessGroupNCCL {
 public:
  using ProcessGroupNCCL::ProcessGroupNCCL;
  void abort() override {
    asyncErrorHandling_ = c10d::CleanUpOnly;
    ProcessGroupNCCL::abort();
  }
};

c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds timeout) {
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<RankNccl>(store, rank, size, options);
}

const bool registered = [] {
  if (register_nccl != nullptr) register_nccl(make_nccl);
  return true;
}();

}  // namespace
}  // namespace tessera
