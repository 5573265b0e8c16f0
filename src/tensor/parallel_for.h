#pragma once
#include <cstdint>

namespace tessera {

// Note [Our own parallel_for]
// at::parallel_for is a template that starts threads only where the code that uses it is compiled with OpenMP; else it is a
// plain loop, and says nothing. This one is compiled once, with OpenMP, and runs on the threads of libtorch's own operations.

using ParallelBody = void (*)(const void* body, int64_t begin, int64_t end);
void run_parallel(int64_t begin, int64_t end, int64_t grain, ParallelBody call, const void* body);

// Calls body(b, e) for parts of [begin, end) that are at least `grain` long (but the last), on up to at::get_num_threads()
// threads, and waits. Inside another parallel_for, and for ranges up to `grain`, one call on this thread. Rethrows the first
// exception.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& body) {
  run_parallel(
      begin, end, grain, [](const void* f, int64_t b, int64_t e) { (*static_cast<const F*>(f))(b, e); }, &body);
}

}  // namespace tessera
