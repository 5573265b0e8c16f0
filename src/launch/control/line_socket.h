#pragma once
#include <string>
#include <vector>

#include "launch/node/file_handle.h"

namespace tessera {

// A TCP connection that carries lines. Nothing blocks: what cannot be sent yet waits here for the next flush().
class LineSocket {
 public:
  explicit LineSocket(FileHandle connected, std::string peer);

  int fd() const { return socket_.fd(); }
  const std::string& peer() const { return peer_; }
  void send(const std::string& line);
  void flush();

  // Whole lines that have come. Once `broken()`, no more will: the peer closed, or sends what is no line of ours.
  std::vector<std::string> receive();
  bool broken() const { return broken_; }

 private:
  FileHandle socket_;
  std::string peer_, incoming_, outgoing_;
  bool broken_ = false;
};

// Listens on all addresses of this host. Throws Error if the port is taken.
FileHandle listen_on(int port);

// The next connection, if one has come; its peer() is the address.
std::vector<LineSocket> accept_all(const FileHandle& listener);

// One try; not open if nobody listens there, or the host is not found (then `why` says so).
FileHandle connect_to(const std::string& host, int port, std::string& why);

}  // namespace tessera
