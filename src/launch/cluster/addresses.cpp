#include "launch/cluster/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>

#include <array>
#include <set>

#include "core/host_name.h"
#include "core/loopback.h"

namespace tessera {
namespace {

std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* number = nullptr;
  if (address->sa_family == AF_INET) number = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6) number = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (number == nullptr || inet_ntop(address->sa_family, number, text.data(), text.size()) == nullptr) return "";
  return text.data();
}

std::set<std::string> own_addresses() {
  std::set<std::string> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr != nullptr) found.insert(address_text(entry->ifa_addr));
  }
  freeifaddrs(list);
  found.erase("");
  return found;
}

}  // namespace

bool is_own_address(const std::string& host) {
  if (host == host_name() || is_loopback(host)) return true;
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return false;
  const std::set<std::string> own = own_addresses();
  bool found = false;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next)
    found = found || own.contains(address_text(entry->ai_addr));
  freeaddrinfo(list);
  return found;
}

}  // namespace tessera
