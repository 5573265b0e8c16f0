#include "cuda/record.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <atomic>
#include <map>
#include <mutex>

namespace tessera {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

std::atomic<int64_t> kept_bytes{0};

int64_t reserved_bytes(c10::DeviceIndex device) {
  return allocator::getDeviceStats(device)
      .reserved_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)]
      .current;
}

// Kernels cannot be recorded from the default stream. Always the same one, for libraries keep memory for each.
c10::cuda::CUDAStream recording_stream(c10::DeviceIndex device) {
  static std::mutex mutex;
  static std::map<c10::DeviceIndex, c10::cuda::CUDAStream> streams;
  const std::scoped_lock lock(mutex);
  const auto found = streams.find(device);
  if (found != streams.end()) return found->second;
  return streams.emplace(device, c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)).first->second;
}

class Graph final : public RecordedWork {
 public:
  Graph(c10::DeviceIndex device, const std::function<void()>& work) {
    allocator::emptyCache();  // the graph's memory is apart: what earlier passes left behind would lie idle
    const int64_t before = reserved_bytes(device);
    {
      const c10::cuda::CUDAStreamGuard guard(recording_stream(device));
      // Other threads load data meanwhile and may allocate.
      graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      try {
        work();
      } catch (...) {
        abandon();
        throw;
      }
      graph_.capture_end();
    }
    bytes_ = reserved_bytes(device) - before;
    kept_bytes += bytes_;
    allocator::resetPeakStats(device);
  }
  ~Graph() override { kept_bytes -= bytes_; }

  void replay() override { graph_.replay(); }
  int64_t bytes() const override { return bytes_; }

 private:
  void abandon() {
    try {
      graph_.capture_end();
    } catch (const c10::Error&) {  // the first reason is the one to report
    }
    cudaGetLastError();
  }

  at::cuda::CUDAGraph graph_;
  int64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<RecordedWork> record(int device, const std::function<void()>& work) {
  return std::make_unique<Graph>(static_cast<c10::DeviceIndex>(device), work);
}

int64_t recorded_bytes() {
  return kept_bytes;
}

}  // namespace tessera
