#include "dist/local_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "core/error.h"

namespace tessera {

std::string local_address(const std::string& peer, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;  // connecting one sends nothing: it only looks up the route
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(peer.c_str(), std::to_string(port > 0 ? port : 9).c_str(), &hints, &found);
  TSR_CHECK(failed == 0, "the master's address '{}' is not known on this host: {}", peer, gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const int file = socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    std::array<char, NI_MAXHOST> text{};
    const bool known =
        connect(file, entry->ai_addr, entry->ai_addrlen) == 0 &&
        getsockname(file, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
    close(file);
    if (known) return text.data();
  }
  fail("this host has no route to the master at {}; check --master-addr and the network", peer);
}

}  // namespace tessera
