#pragma once
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tessera {

// Reads a file into the system's cache with a few threads, front to back, while someone else copies from a mapping of it.
// Faulting a mapping in page by page leaves a disk half idle; large reads from two threads keep it busy. Stops when destroyed.
class ReadAhead {
 public:
  ReadAhead(int file, size_t size);  // `file` must stay open
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Is so little of the mapping in memory that reading ahead pays?
  static bool pays(const void* mapping, size_t size);

 private:
  void run(int file, size_t size);

  std::atomic<size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::vector<std::thread> threads_;
};

}  // namespace tessera
