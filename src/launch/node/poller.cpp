#include "launch/node/poller.h"

#include <poll.h>

#include <vector>

namespace tessera {

void Poller::watch(int fd, std::function<void()> readable) {
  watched_[fd] = std::move(readable);
}

void Poller::forget(int fd) {
  watched_.erase(fd);
}

size_t Poller::wait(int timeout_ms) {
  std::vector<pollfd> files;
  for (const auto& [fd, callback] : watched_) files.push_back({fd, POLLIN, 0});
  const int ready = poll(files.data(), files.size(), timeout_ms);
  if (ready <= 0) return 0;
  for (const pollfd& file : files) {
    if (file.revents == 0) continue;
    const auto found = watched_.find(file.fd);  // an earlier callback may have removed it
    if (found == watched_.end()) continue;
    const auto callback = found->second;
    callback();
  }
  return static_cast<size_t>(ready);
}

}  // namespace tessera
