#include "core/listen_at.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <set>

#include "core/error.h"
#include "core/loopback.h"
#include "core/resolve.h"

namespace tessera {
namespace {

constexpr int kBacklog = 128;

Descriptor listen_on(const sockaddr* address, socklen_t length, int port, bool only_v6) {
  Descriptor listener(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.ok()) return listener;
  const int on = 1, v6 = only_v6 ? 1 : 0;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address->sa_family == AF_INET6) setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6, sizeof(v6));
  if (bind(listener.get(), address, length) == 0 && listen(listener.get(), kBacklog) == 0) return listener;
  if (errno == EADDRINUSE)
    fail("port {} of this host is in use by another job; give this one another with --master-port or MASTER_PORT", port);
  return {};
}

}  // namespace

std::string number_of(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

std::vector<Descriptor> listen_at(const std::string& host, int port, std::string& why) {
  std::vector<Descriptor> sockets;
  const Addresses list = resolve(host, port, why);
  std::set<std::string> seen;  // a name may lead to one address twice
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    const std::string number = number_of(entry->ai_addr, entry->ai_addrlen);
    if (!seen.insert(number).second) continue;
    if (is_loopback(number) && !is_loopback(host)) {
      why = fmt::format("{} leads to loopback on this host", host);
      continue;
    }
    Descriptor socket = listen_on(entry->ai_addr, entry->ai_addrlen, port, true);
    if (socket.ok()) {
      sockets.push_back(std::move(socket));
    } else {
      why = fmt::format("{} ({}) is no address of this host: {}", host, number, std::strerror(errno));
    }
  }
  return sockets;
}

Descriptor listen_everywhere(int port) {
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(static_cast<uint16_t>(port));
  if (Descriptor listener = listen_on(reinterpret_cast<sockaddr*>(&any6), sizeof(any6), port, false); listener.ok())
    return listener;
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = any6.sin6_port;
  Descriptor listener = listen_on(reinterpret_cast<sockaddr*>(&any4), sizeof(any4), port, false);
  TSR_CHECK(listener.ok(), "cannot listen on port {}: {}", port, std::strerror(errno));
  return listener;
}

}  // namespace tessera
