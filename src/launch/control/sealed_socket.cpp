#include "launch/control/sealed_socket.h"

#include <utility>

#include "core/hmac.h"

namespace tessera {
namespace {

constexpr size_t kNonceBytes = 32, kDigits = 64;  // of a nonce, and of a code
constexpr const char* kRefused = "refused";

bool is_number(std::string_view text) {
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

SealedSocket::SealedSocket(LineSocket socket, Side side, std::string_view secret)
    : socket_(std::move(socket)), side_(side), secret_(secret), nonce_(hex_of(random_bytes(kNonceBytes))) {
  if (side_ == Side::kListener) socket_.send(nonce_);
}

std::string SealedSocket::code(bool own, uint64_t number, std::string_view text) const {
  const bool listener_sends = own == (side_ == Side::kListener);
  std::string whole = listener_sends ? "listener " : "caller ";
  whole += std::to_string(number) + " ";
  whole += text;
  return hex_of(hmac_sha256(key_, whole));
}

void SealedSocket::agree(std::string_view peers_nonce) {
  const bool listens = side_ == Side::kListener;
  std::string both = "tessera launch ";
  both += listens ? nonce_ : std::string(peers_nonce);
  both += listens ? std::string(peers_nonce) : nonce_;
  key_ = hmac_sha256(secret_, both);
}

void SealedSocket::complain(const std::string& why) {
  complaint_ = why;
  if (side_ == Side::kListener) socket_.send(kRefused);
}

void SealedSocket::send(const std::string& text) {
  if (broken()) return;
  if (proven_) {
    put(text);
  } else {
    waiting_.push_back(text);
  }
}

void SealedSocket::put(const std::string& text) {
  socket_.send(code(true, sent_, text) + " " + text);
  ++sent_;
}

void SealedSocket::believe() {
  ++received_;
  proven_ = true;
  if (side_ == Side::kListener) put("");
  for (const std::string& text : std::exchange(waiting_, {})) put(text);
}

// What tells the caller who listens, and the listener that the caller has the secret.
void SealedSocket::take_first(const std::string& line) {
  const std::string_view nonce = std::string_view(line).substr(0, kDigits);
  const bool listens = side_ == Side::kListener;
  if (!is_number(nonce) || line.size() != (listens ? 2 * kDigits + 1 : kDigits)) {
    return complain("it sent something that is no message of a launcher");
  }
  agree(nonce);
  if (listens) {
    if (!same_code(line, std::string(nonce) + " " + code(false, received_, "")))
      return complain("it does not have the secret of this job");
    believe();
  } else {
    socket_.send(nonce_ + " " + code(true, sent_, ""));
    ++sent_;
  }
}

std::vector<std::string> SealedSocket::receive() {
  std::vector<std::string> texts;
  for (const std::string& line : socket_.receive()) {
    if (!complaint_.empty()) break;
    spoke_ = true;
    if (side_ == Side::kCaller && !proven_ && line == kRefused) {
      refused_ = true;
      complain("it refuses this launcher");
    } else if (key_.empty()) {
      take_first(line);
    } else if (line.size() <= kDigits || line[kDigits] != ' ' ||
               !same_code(std::string_view(line).substr(0, kDigits),
                          code(false, received_, std::string_view(line).substr(kDigits + 1)))) {
      complain("a message of it is not signed with the secret of this job, or out of turn");
    } else if (!proven_) {
      if (line.size() > kDigits + 1) {
        complain("it says something before it has shown that it has the secret of this job");
      } else {
        believe();
      }
    } else {
      ++received_;
      texts.push_back(line.substr(kDigits + 1));
    }
  }
  if (socket_.too_long() && complaint_.empty()) complain("it sent a line longer than any message");
  return texts;
}

}  // namespace tessera
