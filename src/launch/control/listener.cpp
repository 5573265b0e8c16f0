#include "launch/control/listener.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "core/listen_at.h"
#include "core/log.h"
#include "core/loopback.h"

namespace tessera {
namespace {

constexpr double kRest_s = 0.1, kNoFileRest_s = 1;

}  // namespace

Listener::Listener(const std::string& address, int port, Poller& poller) : poller_(poller) {
  std::string why;
  sockets_ = listen_at(address, port, why);
  if (sockets_.empty()) {
    TSR_CHECK(!is_loopback(address), "cannot listen at {} port {}: {}", address, port, why);
    log_warn("{}: listening for the other nodes at all addresses, port {}; a --master-addr of this host keeps it to that one",
             why, port);
    sockets_.push_back(listen_everywhere(port));
    everywhere_ = true;
  }
  for (const Descriptor& socket : sockets_) poller_.watch(socket.get(), [] {});  // wakes the loop
}

Listener::~Listener() {
  for (const Descriptor& socket : sockets_) poller_.forget(socket.get());
}

void Listener::pause(double until_s) {
  paused_ = true;
  resume_s_ = until_s;
  for (const Descriptor& socket : sockets_) poller_.forget(socket.get());
}

std::vector<LineSocket> Listener::accept(double now_s) {
  std::vector<LineSocket> found;
  if (paused_ && now_s < resume_s_) return found;
  starved_ = false;
  if (std::exchange(paused_, false)) {
    for (const Descriptor& socket : sockets_) poller_.watch(socket.get(), [] {});
  }
  for (const Descriptor& socket : sockets_) {
    while (found.size() < kMostAtOnce) {
      sockaddr_storage address{};
      socklen_t length = sizeof(address);
      FileHandle connection(
          accept4(socket.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!connection.open() && (errno == EINTR || errno == ECONNABORTED)) continue;
      if (!connection.open()) {
        starved_ = starved_ || errno != EAGAIN;
        break;
      }
      found.emplace_back(std::move(connection), number_of(reinterpret_cast<sockaddr*>(&address), length), kLongestFirstLine);
    }
  }
  if (starved_ || found.size() == kMostAtOnce) pause(now_s + (starved_ ? kNoFileRest_s : kRest_s));
  return found;
}

}  // namespace tessera
