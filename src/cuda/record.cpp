#include "cuda/record.h"

#include <ATen/core/CachingHostAllocator.h>
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

void quietly(const std::function<void()>& action) {
  try {
    action();
  } catch (const c10::Error&) {  // the first reason is the one to report
  }
}

class Graph final : public RecordedWork {
 public:
  Graph(c10::DeviceIndex device, const std::function<void()>& work) : device_(device) {
    allocator::emptyCache();  // the graph's memory is apart: what earlier passes left behind would lie idle
    const int64_t before = reserved_bytes(device);
    {
      const c10::cuda::CUDAStreamGuard guard(recording_stream(device));
      try {
        // Other threads load data meanwhile and may allocate.
        graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
        work();
        graph_.capture_end();
      } catch (...) {
        abandon();
        throw;
      }
    }
    bytes_ = reserved_bytes(device) - before;
    kept_bytes += bytes_;
    allocator::resetPeakStats(device);
  }
  ~Graph() override { kept_bytes -= bytes_; }

  void replay() override { graph_.replay(); }
  int64_t bytes() const override { return bytes_; }

 private:
  // A recording that is no longer valid cannot end. libtorch's allocators are then still told that it goes on, with a filter
  // that refers to the graph; where it did end they say that it does not, and have given its memory back.
  void abandon() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(c10::cuda::getCurrentCUDAStream(), &status);
    if (status != cudaStreamCaptureStatusNone) quietly([&] { graph_.capture_end(); });
    cudaGetLastError();
    quietly([&] {
      allocator::endAllocateToPool(device_, pool_);
      allocator::releasePool(device_, pool_);
    });
    quietly([&] {
      at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool_);
      at::getHostAllocator(at::kCUDA)->release_pool(pool_);
    });
  }

  c10::DeviceIndex device_;
  c10::MempoolId_t pool_ = at::cuda::graph_pool_handle();
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
