#pragma once
#include <algorithm>
#include <ctime>

// Milliseconds of processor time of all threads, best of several rounds. Processor time rather than the clock's: it hardly
// depends on what else the machine does.
template <class Work>
double best_ms(int rounds, Work&& work) {
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const std::clock_t begin = std::clock();
    work();
    best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}
