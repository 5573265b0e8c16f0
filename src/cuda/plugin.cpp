// The plug-in offers its functions to the program when it is loaded; the kernels register themselves with torch's dispatcher.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include "cuda/record.h"

namespace tessera {
namespace {

std::vector<GpuInfo> list_gpus() {
  std::vector<GpuInfo> found;
  for (int i = 0; i < c10::cuda::device_count(); ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    found.push_back({properties.name, static_cast<int64_t>(properties.totalGlobalMem), properties.major, properties.minor});
  }
  return found;
}

int64_t peak_memory(int device) {
  using c10::CachingAllocator::StatType;
  const auto index = static_cast<c10::DeviceIndex>(device);
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(index);
  c10::cuda::CUDACachingAllocator::resetPeakStats(index);
  // The allocator takes what recorded work uses for free.
  return stats.allocated_bytes[static_cast<size_t>(StatType::AGGREGATE)].peak + recorded_bytes();
}

const bool registered = [] {
  register_cuda_plugin(
      {.gpus = list_gpus,
       .synchronize = [](int device) { c10::cuda::set_device(static_cast<c10::DeviceIndex>(device)), cudaDeviceSynchronize(); },
       .peak_memory = peak_memory,
       .empty_cache = [] { c10::cuda::CUDACachingAllocator::emptyCache(); },
       .forbid_waiting =
           [](bool forbidden) {
             using c10::cuda::SyncDebugMode;
             c10::cuda::warning_state().set_sync_debug_mode(forbidden ? SyncDebugMode::L_ERROR : SyncDebugMode::L_DISABLED);
           },
       .record = record});
  return true;
}();

}  // namespace
}  // namespace tessera
