#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launch/control/line_socket.h"

namespace tessera {

// Note [Sealed lines]
// Launchers believe one another only what carries a code that nobody can make without the job's secret.
//   the listener:  NONCE                          32 random bytes, of this connection alone
//   the caller:    NONCE CODE                     its own, and the code of an empty text: it has the secret
//   the listener:  CODE                           and a space, of an empty text: it has the secret too
//   both:          CODE TEXT                      from then on, a line each
// All numbers are hexadecimal. CODE is HMAC-SHA256(key, who sends + how many lines came before + TEXT), and key is
// HMAC-SHA256(secret, both nonces): what was heard on another connection, from the other side, or earlier on this one has
// another code. A job without a secret has the empty one; lines then prove nothing, but the way is the same.
// A peer whose code is wrong is told "refused", nothing else, and not listened to any more. Nobody hears a text who has not
// shown its code: what a caller has to say, the command line among it, waits for the listener's.
class SealedSocket {
 public:
  enum class Side { kListener, kCaller };
  SealedSocket(LineSocket socket, Side side, std::string_view secret);

  int fd() const { return socket_.fd(); }
  const std::string& peer() const { return socket_.peer(); }

  void send(const std::string& text);  // waits here until the peer has shown that it has the secret
  void flush() { socket_.flush(); }
  void end_sending() { socket_.end_sending(); }

  // Texts that the peer has signed.
  std::vector<std::string> receive();
  bool proven() const { return proven_; }  // it has the secret
  bool spoke() const { return spoke_; }    // it has sent something
  void allow_lines_of(size_t bytes) { socket_.allow_lines_of(bytes); }

  // Nothing more will come; complaint() says what the peer did wrong, and is empty if it has only closed.
  bool broken() const { return closed() || !complaint_.empty(); }
  bool closed() const { return socket_.broken(); }
  const std::string& complaint() const { return complaint_; }
  bool refused() const { return refused_; }  // by the peer

 private:
  std::string code(bool own, uint64_t number, std::string_view text) const;
  void agree(std::string_view peers_nonce);
  void put(const std::string& text);
  void take_first(const std::string& line);
  void believe();
  void complain(const std::string& why);

  LineSocket socket_;
  Side side_;
  std::string secret_, nonce_, key_;  // key_ is empty until both nonces are known
  std::vector<std::string> waiting_;
  uint64_t sent_ = 0, received_ = 0;
  bool proven_ = false, spoke_ = false, refused_ = false;
  std::string complaint_;
};

}  // namespace tessera
