#pragma once
#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct GpuInfo {
  std::string name;
  int64_t memory_bytes = 0;
  int major = 0, minor = 0;
};

// Kernels that were recorded once and are sent again as one.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  virtual void replay() = 0;          // on the current stream, without waiting
  virtual int64_t bytes() const = 0;  // of memory it keeps
};

// What the CUDA plug-in offers beside its kernels. The plug-in fills it when it is loaded.
struct CudaPlugin {
  std::vector<GpuInfo> (*gpus)() = nullptr;
  void (*synchronize)(int device) = nullptr;
  int64_t (*peak_memory)(int device) = nullptr;  // bytes, since the last call
  void (*empty_cache)() = nullptr;
  void (*forbid_waiting)(bool forbidden) = nullptr;  // while forbidden, an operation that waits for the GPU throws
  // Records the kernels that `work` sends to the current stream, which are not run. Throws what `work` throws; an operation
  // that waits cannot be recorded.
  std::unique_ptr<RecordedWork> (*record)(int device, const std::function<void()>& work) = nullptr;
};

// Loads libtessera_cuda.so from beside the program when an NVIDIA driver is there; call before the first tensor is made.
// Without a driver or plug-in nothing happens and `cuda_status` says why.
void load_cuda_plugin();
const CudaPlugin* cuda_plugin();                      // null without CUDA
std::string cuda_status();                            // "2 GPUs", "no NVIDIA driver found", ...
void register_cuda_plugin(const CudaPlugin& plugin);  // called by the plug-in

// "auto", "cpu", "cuda", "cuda:1". Throws UsageError when the device is not there.
c10::Device pick_device(const std::string& name);

}  // namespace tessera
