#pragma once
#include <fmt/format.h>
#include <netdb.h>

#include <memory>
#include <string>

namespace tessera {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// The addresses a host's name or number stands for, to connect to or to listen on; none if it is not found (then `why` says
// so).
inline Addresses resolve(const std::string& host, int port, std::string& why) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) why = fmt::format("host {}: {}", host, gai_strerror(error));
  return {error == 0 ? list : nullptr, freeaddrinfo};
}

}  // namespace tessera
