#include "launch/control/line_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/resolve.h"

namespace tessera {
namespace {

constexpr size_t kMostUnsent = 16 << 20;
constexpr int kConnectTimeout_ms = 3000;

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

LineSocket::LineSocket(FileHandle connected, std::string peer, size_t longest_line)
    : socket_(std::move(connected)), peer_(std::move(peer)), longest_(longest_line) {
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

void LineSocket::end_sending() {
  flush();
  shutdown(socket_.fd(), SHUT_WR);
}

std::vector<std::string> LineSocket::receive() {
  std::array<char, 65536> buffer;
  // Bounded: a peer that sends without end must neither fill the memory nor keep the others waiting.
  while (!broken_ && incoming_.size() <= longest_) {
    const size_t room = std::min(buffer.size(), longest_ + 1 - incoming_.size());
    const ssize_t got = recv(socket_.fd(), buffer.data(), room, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    broken_ = got <= 0;
    if (got > 0) incoming_.append(buffer.data(), static_cast<size_t>(got));
  }
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = 0; (end = incoming_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(incoming_.substr(begin, end - begin));
  }
  incoming_.erase(0, begin);
  too_long_ = incoming_.size() > longest_;
  broken_ = broken_ || too_long_;
  return lines;
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
