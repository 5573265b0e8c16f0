#include "launch/control/line_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace tessera {
namespace {

constexpr size_t kLongestLine = 4 << 20, kMostUnsent = 16 << 20;
constexpr int kConnectTimeout_ms = 3000;

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const std::string& host, int port, std::string& why) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) why = fmt::format("host {}: {}", host, gai_strerror(error));
  return {error == 0 ? list : nullptr, freeaddrinfo};
}

bool finish_connecting(int fd) {
  pollfd file{fd, POLLOUT, 0};
  if (poll(&file, 1, kConnectTimeout_ms) != 1) {
    errno = ETIMEDOUT;
    return false;
  }
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  return error == 0;
}

}  // namespace

LineSocket::LineSocket(FileHandle connected, std::string peer) : socket_(std::move(connected)), peer_(std::move(peer)) {
  fcntl(socket_.fd(), F_SETFL, O_NONBLOCK);
  const int on = 1;
  setsockopt(socket_.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void LineSocket::send(const std::string& line) {
  outgoing_ += line;
  outgoing_ += '\n';
  flush();
}

void LineSocket::flush() {
  while (!outgoing_.empty() && !broken_) {
    const ssize_t sent = ::send(socket_.fd(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      broken_ = errno != EAGAIN || outgoing_.size() > kMostUnsent;
      return;
    }
    outgoing_.erase(0, static_cast<size_t>(sent));
  }
}

std::vector<std::string> LineSocket::receive() {
  std::array<char, 65536> buffer;
  while (!broken_) {
    const ssize_t got = recv(socket_.fd(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    broken_ = got <= 0 || incoming_.size() > kLongestLine;
    if (got > 0) incoming_.append(buffer.data(), static_cast<size_t>(got));
  }
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = 0; (end = incoming_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(incoming_.substr(begin, end - begin));
  }
  incoming_.erase(0, begin);
  return lines;
}

FileHandle listen_on(int port) {
  // One socket for IPv6 and IPv4 alike; a machine without IPv6 gets an IPv4 one.
  for (const int family : {AF_INET6, AF_INET}) {
    FileHandle listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener.open()) continue;
    const int on = 1, off = 0;
    setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in6 any6{};
    sockaddr_in any4{};
    any6.sin6_family = AF_INET6;
    any6.sin6_port = any4.sin_port = htons(static_cast<uint16_t>(port));
    any4.sin_family = AF_INET;
    if (family == AF_INET6) setsockopt(listener.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    const bool bound = family == AF_INET6 ? bind(listener.fd(), reinterpret_cast<sockaddr*>(&any6), sizeof(any6)) == 0
                                          : bind(listener.fd(), reinterpret_cast<sockaddr*>(&any4), sizeof(any4)) == 0;
    if (bound && listen(listener.fd(), 128) == 0) return listener;
    if (errno == EADDRINUSE) {
      fail("port {} of this host is in use by another job; give this one another with --master-port or MASTER_PORT", port);
    }
  }
  fail("cannot listen on port {}: {}", port, std::strerror(errno));
}

std::vector<LineSocket> accept_all(const FileHandle& listener) {
  std::vector<LineSocket> found;
  for (;;) {
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    FileHandle connection(accept4(listener.fd(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC));
    if (!connection.open()) return found;
    std::array<char, NI_MAXHOST> name{};
    getnameinfo(reinterpret_cast<sockaddr*>(&address), length, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST);
    found.emplace_back(std::move(connection), name.data());
  }
}

FileHandle connect_to(const std::string& host, int port, std::string& why) {
  const Addresses list = resolve(host, port, why);
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    FileHandle connection(socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!connection.open()) continue;
    const bool done = connect(connection.fd(), entry->ai_addr, entry->ai_addrlen) == 0;
    if (done || (errno == EINPROGRESS && finish_connecting(connection.fd()))) return connection;
    why = fmt::format("{} port {}: {}", host, port, std::strerror(errno));
  }
  return FileHandle();
}

}  // namespace tessera
