#pragma once
#include <functional>
#include <map>

namespace tessera {

// Waits for several files at once; the launcher is one thread around one of these. Callbacks may watch and forget files.
class Poller {
 public:
  void watch(int fd, std::function<void()> readable);  // also called when the other end is closed
  void forget(int fd);
  size_t wait(int timeout_ms);  // how many files had something

 private:
  std::map<int, std::function<void()>> watched_;
};

}  // namespace tessera
