#pragma once
#include <cstdint>
#include <exception>
#include <iterator>
#include <thread>
#include <vector>

namespace tessera {

// Adds threads that run `work` until there are `count`. Where there is no memory for so many (each has a stack), or the system
// allows no more, there are fewer, maybe none: an exception would end the process while the others run.
template <class Work>
void start_threads(std::vector<std::thread>& threads, int64_t count, const Work& work) {
  try {
    while (std::ssize(threads) < count) threads.emplace_back(work);
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace tessera
