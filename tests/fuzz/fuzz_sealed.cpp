// libFuzzer target: what a stranger reaches at a launcher before any code is checked, as the listener and as the caller.
// Whatever comes, in whatever pieces: nobody is believed, no text comes out, no more memory is held than a line may have, and
// the stranger hears a nonce, a code of nothing and that it is refused.
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/printable.h"
#include "launch/control/sealed_socket.h"

namespace {

constexpr size_t kLongest = 4096;
using namespace tessera;

void require(bool condition) {
  if (!condition) std::abort();
}

std::string heard_by(const FileHandle& end) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = recv(end.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;)
    text.append(buffer.data(), static_cast<size_t>(got));
  return text;
}

void try_as(SealedSocket::Side side, const uint8_t* data, size_t size, size_t piece) {
  std::array<int, 2> ends{};
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const FileHandle stranger(ends[0]);
  SealedSocket socket(LineSocket(FileHandle(ends[1]), "stranger", kLongest), side, "a secret that nobody knows");
  socket.send("the command line");
  for (size_t at = 0; at < size && !socket.broken(); at += piece) {
    require(send(stranger.fd(), data + at, std::min(piece, size - at), MSG_NOSIGNAL) >= 0);
    require(socket.receive().empty() && !socket.proven());
  }
  require(printable(socket.complaint()) == socket.complaint());
  const std::string heard = heard_by(stranger);
  require(heard.find("command") == std::string::npos && heard.size() <= (side == SealedSocket::Side::kListener ? 65 + 8 : 130));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = 1 + 16 * static_cast<size_t>(data[0]);
  try_as(SealedSocket::Side::kListener, data + 1, size - 1, piece);
  try_as(SealedSocket::Side::kCaller, data + 1, size - 1, piece);
  return 0;
}
