#include "tensor/parallel_for.h"

#include <ATen/Parallel.h>
#include <c10/util/ParallelGuard.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#ifndef _OPENMP
#error "this file is compiled with OpenMP, or nothing of ours runs in parallel"
#endif

namespace tessera {

void run_parallel(int64_t begin, int64_t end, int64_t grain, ParallelBody call, const void* body) {
  const int64_t count = end - begin;
  if (count <= 0) return;
  // The first also gives this thread libtorch's number of threads.
  if (at::get_num_threads() == 1 || count <= std::max<int64_t>(1, grain) || at::in_parallel_region()) {
    const c10::ParallelGuard guard(true);
    return call(body, begin, end);
  }
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  std::exception_ptr error;
  // Always the whole team: libgomp ends and starts threads when the size of a team changes.
#pragma omp parallel
  {
    const int64_t threads =
        std::min<int64_t>(omp_get_num_threads(), (count + std::max<int64_t>(1, grain) - 1) / std::max<int64_t>(1, grain));
    const int64_t part = (count + threads - 1) / threads, first = begin + omp_get_thread_num() * part;
    if (first < end) {
      const c10::ParallelGuard guard(true);
      try {
        call(body, first, std::min(end, first + part));
      } catch (...) {
        if (!failed.test_and_set()) error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace tessera
