#include "dist/thread_ranks.h"

#include <ATen/Parallel.h>

#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace tessera {
namespace {

// A world for each thread; making one waits for the others.
std::vector<std::unique_ptr<World>> thread_worlds(int size, bool cuda, std::chrono::seconds timeout) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::unique_ptr<World>> worlds(static_cast<size_t>(size));
  std::vector<std::thread> makers;  // each waits for the others
  std::vector<std::exception_ptr> errors(worlds.size());
  for (int rank = 0; rank < size; ++rank) {
    makers.emplace_back([&, rank] {
      const auto i = static_cast<size_t>(rank);
      try {
        worlds[i] = std::make_unique<World>(
            RankSpec{.rank = rank, .world_size = size, .local_rank = rank, .local_world_size = size}, store, cuda, timeout);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& maker : makers) maker.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return worlds;
}

}  // namespace

void run_on_threads(int ranks, bool cuda, std::chrono::seconds timeout, const std::function<void(World&)>& body) {
  std::vector<std::unique_ptr<World>> worlds = thread_worlds(ranks, cuda, timeout);
  const int threads_before = at::get_num_threads(), threads_each = std::max(1, threads_before / ranks);
  std::mutex mutex;
  std::exception_ptr first_error;
  std::vector<std::thread> threads;
  for (auto& world : worlds) {
    threads.emplace_back([&] {
      at::set_num_threads(threads_each);
      try {
        body(*world);
        world->control.barrier();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first_error) first_error = std::current_exception();
      }
      world.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  at::set_num_threads(threads_before);  // threads that are made from now on begin with what was set last
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace tessera
