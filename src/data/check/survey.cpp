#include "data/check/survey.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "core/start_threads.h"

namespace tessera {

Survey survey_split(Split split, DatasetPtr data, int threads, const std::function<void(int64_t done)>& progress) {
  const auto start = std::chrono::steady_clock::now();
  Survey survey{split, std::move(data), {}, {}};
  const Dataset& dataset = *survey.data;
  survey.samples.resize(static_cast<size_t>(dataset.size()));
  std::atomic<int64_t> next = 0;
  std::mutex mutex;  // guards done, failure, the histogram and the calls of progress
  int64_t done = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    ByteHistogram counts;
    try {
      for (int64_t i = next++; i < dataset.size(); i = next++) {
        survey.samples[static_cast<size_t>(i)] = look_at_sample(dataset, i, counts);
        const std::lock_guard lock(mutex);
        ++done;
        if (progress) progress(done);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = dataset.size();  // the others stop after their current sample
    }
    const std::lock_guard lock(mutex);
    add_counts(counts, survey.histogram);
  };
  std::vector<std::thread> others;
  start_threads(others, threads - 1, work);
  work();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
  survey.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return survey;
}

}  // namespace tessera
