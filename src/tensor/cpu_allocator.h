#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace tessera {

// Makes libtorch keep the memory of large CPU tensors and hand it out again. A training step frees and takes the same sizes
// over and over; the C library returns blocks of this size to the system each time, and the system then clears every page
// anew. At most `max_cached_bytes` are kept (0: an eighth of the machine's memory). Call before the first tensor is made.
void install_cpu_allocator(size_t max_cached_bytes = 0);

// Bytes kept for later; for tests.
size_t cpu_allocator_cached_bytes();

// Gives what is kept back to the system.
void empty_cpu_cache();

// For tests: the n-th request of this thread from now on, counted from 0, finds no memory; -1: all do. Returns how many
// requests this thread has made since the last call. Nothing happens where the allocator is not installed.
int64_t fail_cpu_request(int64_t n);

// Bytes of tensors on the CPU that `work` needed at its peak, on top of what there was; those of other threads count too.
// Nothing where the allocator is not installed.
std::optional<size_t> cpu_memory_of(const std::function<void()>& work);

}  // namespace tessera
