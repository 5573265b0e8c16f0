#pragma once
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <optional>
#include <string>

namespace tessera {

// A name of a Unix socket in the network's own list, in no folder: it goes with the last process that holds it, however that
// ends. Any user of the machine may take one that nobody has, so who holds it is to be asked: peer_of().
struct NetworkName {
  explicit NetworkName(const std::string& text)
      : length(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size())) {
    address.sun_family = AF_UNIX;
    text.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);  // such names begin with a zero byte
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t length;
};

// Whose process is at the other end of a connected Unix socket, by the word of the kernel.
inline std::optional<ucred> peer_of(int connection) {
  ucred who{};
  socklen_t size = sizeof(who);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return std::nullopt;
  return who;
}

}  // namespace tessera
