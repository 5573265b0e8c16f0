#pragma once
#include <string>
#include <vector>

#include "launch/node/file_handle.h"

namespace tessera {

// A TCP connection that carries lines. Nothing blocks: what cannot be sent yet waits here for the next flush().
class LineSocket {
 public:
  LineSocket(FileHandle connected, std::string peer, size_t longest_line);

  int fd() const { return socket_.fd(); }
  const std::string& peer() const { return peer_; }
  void send(const std::string& line);
  void flush();
  void end_sending();  // the peer sees the end once it has read what was sent

  // Whole lines that have come, of one call not many more bytes than the longest line may have. Once `broken()`, no more will
  // come: the peer closed, or sends a line that is too long.
  std::vector<std::string> receive();
  bool broken() const { return broken_; }
  bool too_long() const { return too_long_; }
  void allow_lines_of(size_t bytes) { longest_ = bytes; }

 private:
  FileHandle socket_;
  std::string peer_, incoming_, outgoing_;
  size_t longest_;
  bool broken_ = false, too_long_ = false;
};

// One try; not open if nobody listens there, or the host is not found (then `why` says so).
FileHandle connect_to(const std::string& host, int port, std::string& why);

}  // namespace tessera
