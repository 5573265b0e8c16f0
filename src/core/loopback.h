#pragma once
#include <arpa/inet.h>

#include <string>

namespace tessera {

// Whether an address is one that only processes of this machine can reach. A name that merely leads to one, as a host's own
// name does in some /etc/hosts, is none: other machines may know it by another address.
inline bool is_loopback(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return host == "localhost" || (inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

}  // namespace tessera
