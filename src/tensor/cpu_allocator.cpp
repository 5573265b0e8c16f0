#include "tensor/cpu_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "core/memory_limit.h"

namespace tessera {
namespace {

constexpr size_t kAlignment = 64;              // of the data, and the room for the header before it
constexpr size_t kSmallest = size_t{1} << 17;  // smaller blocks are quick in the C library
constexpr size_t kHugePage = size_t{1} << 21;

// Stands in the 64 bytes before the data: whoever frees a block has only its address.
struct Header {
  size_t capacity;
};
static_assert(sizeof(Header) <= kAlignment);

struct PlannedFailure {
  int64_t requests = 0;
  int64_t at = -1;
};
thread_local PlannedFailure planned;

// Sizes are rounded up to an eighth of a power of two, so that blocks fit again; at most 12.5 % is lost.
size_t size_class(size_t bytes) {
  if (bytes < kSmallest) return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

class CachingAllocator final : public c10::Allocator {
 public:
  explicit CachingAllocator(size_t max_cached) : max_cached_(max_cached) {}

  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::kCPU)};
    TORCH_CHECK_WITH(OutOfMemoryError, planned.requests++ != planned.at, "not enough memory: a request of ", bytes,
                     " bytes fails on purpose");
    const size_t capacity = size_class(bytes);
    void* data = capacity >= kSmallest ? take_cached(capacity) : nullptr;
    if (data == nullptr) data = take_new(capacity);
    count_taken(capacity);
    return {data, data, &release, c10::Device(c10::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* dest, const void* src, std::size_t count) const override { default_copy_data(dest, src, count); }

  size_t cached_bytes() {
    const std::lock_guard lock(mutex_);
    return cached_;
  }

  void flush() {
    const std::lock_guard lock(mutex_);
    flush_locked();
  }

  size_t in_use() const { return in_use_; }
  size_t peak() const { return peak_; }
  void restart_peak() { peak_ = in_use_.load(); }

  static CachingAllocator*& instance() {
    static CachingAllocator* allocator = nullptr;
    return allocator;
  }

 private:
  static Header* header_of(void* data) { return reinterpret_cast<Header*>(static_cast<char*>(data) - kAlignment); }

  void* take_cached(size_t capacity) {
    const std::lock_guard lock(mutex_);
    const auto found = free_.find(capacity);
    if (found == free_.end() || found->second.empty()) return nullptr;
    void* data = found->second.back();
    found->second.pop_back();
    cached_ -= capacity;
    return data;
  }

  // Where a control group limits the memory, the system does not refuse what is beyond it but ends the process. So large
  // requests that would come near are refused here; then less is computed at a time. What was taken and not yet written to does
  // not show in the group's numbers: it is added to what was there at first.
  bool has_room(size_t capacity) {
    constexpr int64_t kReserve = 20;  // one part of so many is for threads, small blocks and the C library
    if (!group_.limited()) return true;
    const auto own = static_cast<int64_t>(in_use_.load() + cached_bytes());
    const int64_t used = group_.used();
    std::call_once(beside_known_, [&] { beside_ = std::max<int64_t>(0, used - own); });
    return std::max(used, beside_ + own) + static_cast<int64_t>(capacity) <= group_.limit() - group_.limit() / kReserve;
  }

  void check_room(size_t capacity) {
    if (capacity < kHugePage || has_room(capacity)) return;
    flush();
    ::malloc_trim(0);
    TORCH_CHECK_WITH(OutOfMemoryError, has_room(capacity), "not enough memory: tried to allocate ", capacity,
                     " bytes, and the limit of this process's control group is near");
  }

  void* take_new(size_t capacity) {
    check_room(capacity);
    const size_t total = capacity + kAlignment;
    const size_t alignment = capacity >= kHugePage ? kHugePage : kAlignment;
    void* block = nullptr;
    if (::posix_memalign(&block, alignment, total) != 0) {
      flush();
      TORCH_CHECK_WITH(OutOfMemoryError, ::posix_memalign(&block, alignment, total) == 0,
                       "not enough memory: tried to allocate ", capacity, " bytes");
    }
    // Fewer, larger pages: the first touch of a block and the address translation both cost less.
    if (capacity >= kHugePage) ::madvise(block, total, MADV_HUGEPAGE);
    static_cast<Header*>(block)->capacity = capacity;
    return static_cast<char*>(block) + kAlignment;
  }

  static void release(void* data) {
    if (data == nullptr) return;
    const size_t capacity = header_of(data)->capacity;
    instance()->in_use_.fetch_sub(capacity, std::memory_order_relaxed);
    if (capacity < kSmallest || !instance()->keep(data, capacity)) std::free(header_of(data));
  }

  bool keep(void* data, size_t capacity) {
    if (capacity > max_cached_) return false;
    const std::lock_guard lock(mutex_);
    // What is there is of sizes no longer asked for, as after an evaluation: make room for those that are.
    if (cached_ + capacity > max_cached_) flush_locked();
    free_[capacity].push_back(data);
    cached_ += capacity;
    return true;
  }

  void count_taken(size_t capacity) {
    const size_t now = in_use_.fetch_add(capacity, std::memory_order_relaxed) + capacity;
    size_t most = peak_.load(std::memory_order_relaxed);
    while (now > most && !peak_.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }

  void flush_locked() {
    for (auto& [capacity, blocks] : free_) {
      for (void* data : blocks) std::free(header_of(data));
    }
    free_.clear();
    cached_ = 0;
  }

  const size_t max_cached_;
  const GroupMemory group_ = GroupMemory::of_process();
  std::once_flag beside_known_;
  int64_t beside_ = 0;  // what was in use beside tensors at the first large request
  std::atomic<size_t> in_use_ = 0, peak_ = 0;
  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_;
  size_t cached_ = 0;
};

}  // namespace

void install_cpu_allocator(size_t max_cached_bytes) {
  if (CachingAllocator::instance() != nullptr) return;
  if (max_cached_bytes == 0) {
    max_cached_bytes = static_cast<size_t>(memory_limit()) / 8;
  }
  // Never destroyed: tensors in static storage may outlive main.
  CachingAllocator::instance() = new CachingAllocator(max_cached_bytes);
  c10::SetCPUAllocator(CachingAllocator::instance(), /*priority=*/1);
}

size_t cpu_allocator_cached_bytes() {
  return CachingAllocator::instance() == nullptr ? 0 : CachingAllocator::instance()->cached_bytes();
}

void empty_cpu_cache() {
  if (CachingAllocator::instance() != nullptr) CachingAllocator::instance()->flush();
}

int64_t fail_cpu_request(int64_t n) {
  const int64_t made = planned.requests;
  planned = {.requests = 0, .at = n};
  return made;
}

std::optional<size_t> cpu_memory_of(const std::function<void()>& work) {
  CachingAllocator* const allocator = CachingAllocator::instance();
  if (allocator == nullptr) return std::nullopt;
  const size_t before = allocator->in_use();
  allocator->restart_peak();
  work();
  return allocator->peak() - std::min(before, allocator->peak());
}

}  // namespace tessera
