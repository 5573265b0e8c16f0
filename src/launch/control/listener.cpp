#include "launch/control/listener.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "core/loopback.h"
#include "launch/control/resolve.h"

namespace tessera {
namespace {

constexpr double kRest_s = 0.1, kNoFileRest_s = 1;
constexpr int kBacklog = 128;

std::string number_of(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

// Not open where the address is none of this host's.
FileHandle listen_at(const sockaddr* address, socklen_t length, int port, bool only_v6) {
  FileHandle listener(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.open()) return listener;
  const int on = 1, v6 = only_v6 ? 1 : 0;
  setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address->sa_family == AF_INET6) setsockopt(listener.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &v6, sizeof(v6));
  if (bind(listener.fd(), address, length) == 0 && listen(listener.fd(), kBacklog) == 0) return listener;
  if (errno == EADDRINUSE)
    fail("port {} of this host is in use by another job; give this one another with --master-port or MASTER_PORT", port);
  return FileHandle();
}

// One socket for IPv6 and IPv4 alike; a machine without IPv6 gets an IPv4 one.
FileHandle listen_everywhere(int port) {
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(static_cast<uint16_t>(port));
  if (FileHandle listener = listen_at(reinterpret_cast<sockaddr*>(&any6), sizeof(any6), port, false); listener.open())
    return listener;
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = any6.sin6_port;
  FileHandle listener = listen_at(reinterpret_cast<sockaddr*>(&any4), sizeof(any4), port, false);
  TSR_CHECK(listener.open(), "cannot listen on port {}: {}", port, std::strerror(errno));
  return listener;
}

}  // namespace

Listener::Listener(const std::string& address, int port, Poller& poller) : poller_(poller) {
  std::string why;
  const Addresses list = resolve(address, port, why);
  std::set<std::string> seen;  // a name may lead to one address twice
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    const std::string number = number_of(entry->ai_addr, entry->ai_addrlen);
    if (!seen.insert(number).second || (is_loopback(number) && !is_loopback(address))) continue;
    FileHandle socket = listen_at(entry->ai_addr, entry->ai_addrlen, port, true);
    if (socket.open()) sockets_.push_back(std::move(socket));
  }
  if (sockets_.empty()) {
    TSR_CHECK(!is_loopback(address), "cannot listen at {} port {}: {}", address, port, std::strerror(errno));
    log_debug("{} does not tell at which address of this host the others come in; listening at all", address);
    sockets_.push_back(listen_everywhere(port));
    everywhere_ = true;
  }
  for (const FileHandle& socket : sockets_) poller_.watch(socket.fd(), [] {});  // wakes the loop
}

Listener::~Listener() {
  for (const FileHandle& socket : sockets_) poller_.forget(socket.fd());
}

void Listener::pause(double until_s) {
  paused_ = true;
  resume_s_ = until_s;
  for (const FileHandle& socket : sockets_) poller_.forget(socket.fd());
}

std::vector<LineSocket> Listener::accept(double now_s) {
  std::vector<LineSocket> found;
  if (paused_ && now_s < resume_s_) return found;
  starved_ = false;
  if (std::exchange(paused_, false)) {
    for (const FileHandle& socket : sockets_) poller_.watch(socket.fd(), [] {});
  }
  for (const FileHandle& socket : sockets_) {
    while (found.size() < kMostAtOnce) {
      sockaddr_storage address{};
      socklen_t length = sizeof(address);
      FileHandle connection(accept4(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
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
