#include "launch/node/ports.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <random>

#include "core/error.h"
#include "core/network_name.h"

namespace tessera {

bool port_is_free(int number) {
  const FileHandle socket6(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const FileHandle socket4(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(static_cast<uint16_t>(number));
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = any6.sin6_port;
  for (const int fd : {socket6.fd(), socket4.fd()}) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (socket6.open()) {
    setsockopt(socket6.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(socket6.fd(), reinterpret_cast<sockaddr*>(&any6), sizeof(any6)) != 0 && errno == EADDRINUSE) return false;
  }
  return bind(socket4.fd(), reinterpret_cast<sockaddr*>(&any4), sizeof(any4)) == 0;
}

namespace {

// The holder listens, so the system tells whose process it is.
std::string holder_of(const NetworkName& name) {
  const FileHandle caller(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto who = connect(caller.fd(), name.get(), name.length) == 0 ? peer_of(caller.fd()) : std::nullopt;
  if (who && who->uid == geteuid()) return fmt::format(" (reserved by your process {})", who->pid);
  if (who) return fmt::format(" (reserved by a process of another user, number {})", who->uid);
  return " (reserved by a process that does not answer)";
}

}  // namespace

ReservedPort::ReservedPort(int preferred) {
  constexpr int kFirst = 20000, kLast = 31999, kTries = 1000;
  if (preferred > 0 && take(preferred)) return;
  const std::string refusal = refusal_;
  std::random_device random;
  std::uniform_int_distribution<int> any(kFirst, kLast);
  for (int i = 0; i < kTries; ++i) {
    if (!take(any(random))) continue;
    refusal_ = refusal;
    return;
  }
  fail("no free port between {} and {} after {} tries{}; give one with --master-port", kFirst, kLast, kTries,
       refusal_.empty() ? "" : ", the last" + refusal_);
}

bool ReservedPort::take(int number) {
  const NetworkName name(fmt::format("tessera-port-{}", number));
  FileHandle lock(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  refusal_.clear();
  if (!lock.open()) return false;
  if (bind(lock.fd(), name.get(), name.length) != 0) {
    refusal_ = holder_of(name);
    return false;
  }
  if (!port_is_free(number)) return false;
  listen(lock.fd(), 1);
  lock_ = std::move(lock);
  number_ = number;
  return true;
}

}  // namespace tessera
