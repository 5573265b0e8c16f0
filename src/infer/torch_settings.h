#pragma once
#include <c10/core/Device.h>

#include "config/train_config.h"

namespace tessera {

// Note [Torch settings]
// libtorch keeps how it computes in variables of the process (TF32 or not, the same algorithm every time or the fastest) and of
// the thread (how many threads of the CPU it takes). They are changed here and nowhere else. Who computes for an experiment, a
// run or a benchmark, holds a TorchSettings, after which everything is as it was. Within it each step and each prediction still
// calls `set_up_backend`: they want cuDNN to try its algorithms out for different shapes, and they are also made where nobody
// holds a scope. Runs of different experiments therefore follow one another; side by side they need processes of their own.

// What an experiment asks of libtorch, while it lives. Ranks that are threads of one process each hold one for the same
// experiment; the last to go restores. On a GPU this also sets CUBLAS_WORKSPACE_CONFIG where train.deterministic needs it,
// which stays, as cuBLAS reads it once.
class TorchSettings {
 public:
  // Takes train.threads threads for computing, where it says how many, and does what set_up_backend does.
  TorchSettings(const TrainConfig& config, at::Device device);
  ~TorchSettings();  // on the thread that made it
  TorchSettings(const TorchSettings&) = delete;
  TorchSettings& operator=(const TorchSettings&) = delete;

 private:
  int threads_before_;
};

// How libtorch's own operations should compute where there is a GPU: TF32 or not, the same algorithm every time or the fastest,
// and with at most 4 CPU threads of the calling thread beside it. Nothing on a CPU. Cheap enough for every step. fixed_shapes:
// shapes come back, so that trying out cuDNN's algorithms once for each pays.
void set_up_backend(const TrainConfig& config, at::Device device, bool fixed_shapes);

}  // namespace tessera
