#include "launch/control/reception.h"

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "core/plural.h"
#include "launch/control/messages.h"

namespace tessera {
namespace {

constexpr size_t kMostNamed = 20;  // a log is no place for a thousand strangers

}  // namespace

Reception::Reception(const std::string& address, int port, std::string secret, Poller& poller)
    : poller_(poller), listener_(address, port, poller), secret_(std::move(secret)) {}

Reception::~Reception() {
  if (unnamed_ > 0) log_warn("dropped {} more {} at the master port", unnamed_, plural(unnamed_, "connection"));
}

void Reception::name(const std::string& peer, const std::string& why) {
  const std::string text = fmt::format("dropped a connection from {}: {}", peer, why);
  if (named_.contains(text) || named_.size() >= kMostNamed) {
    ++unnamed_;
    return;
  }
  named_.insert(text);
  log_warn("{}", text);
}

void Reception::take_new(double now_s) {
  for (LineSocket& connection : listener_.accept(now_s)) {
    auto guest = std::make_shared<Guest>(
        Guest{SealedSocket(std::move(connection), SealedSocket::Side::kListener, secret_), now_s + kHello_s});
    guests_.push_back(std::move(guest));
  }
}

// What one that leaves still sends is read and forgotten: closing before it has read our last word would take that from it.
void Reception::let_go(Guest& guest, double now_s) {
  guest.socket.end_sending();
  guest.leaving = true;
  guest.until_s = now_s + kGoodbye_s;
}

void Reception::see_off(SealedSocket socket, const std::string& why, double now_s) {
  name(socket.peer(), why);
  poller_.forget(socket.fd());
  guests_.push_back(std::make_shared<Guest>(Guest{std::move(socket), now_s}));
  guests_.back()->seen_off = true;
  let_go(*guests_.back(), now_s);
}

bool Reception::some_leave(double now_s) {
  for (const auto& guest : std::vector(guests_)) {
    if (guest->seen_off) guest->socket.receive();
    if (!guest->seen_off || guest->socket.closed() || now_s > guest->until_s) std::erase(guests_, guest);
  }
  return !guests_.empty();
}

void Reception::read(Guest& guest, double now_s, std::vector<Arrival>& arrivals) {
  const std::vector<std::string> texts = guest.socket.receive();
  guest.socket.flush();
  if (guest.leaving) return;
  if (guest.socket.proven()) guest.socket.allow_lines_of(kLongestHello);
  std::string wrong = guest.socket.complaint();
  if (!texts.empty() && wrong.empty()) {
    try {
      TSR_CHECK(texts.size() == 1, "it said more than who it is before it was answered");
      Hello hello = read_hello(texts.front());
      poller_.watch(guest.socket.fd(), [] {});  // from now on it wakes the loop
      arrivals.push_back({std::move(guest.socket), std::move(hello)});
      return;
    } catch (const Error& e) {
      wrong = e.what();
    }
  }
  if (wrong.empty()) return;
  name(guest.socket.peer(), wrong);
  let_go(guest, now_s);
}

// Those who leave go first, then who has shown nothing, each the oldest first.
void Reception::make_room(size_t most) {
  while (guests_.size() > most) {
    const auto leaving = std::find_if(guests_.begin(), guests_.end(), [](const auto& guest) { return guest->leaving; });
    const auto unknown =
        std::find_if(guests_.begin(), guests_.end(), [](const auto& guest) { return !guest->socket.proven(); });
    const auto goes = leaving != guests_.end() ? leaving : unknown != guests_.end() ? unknown : guests_.begin();
    if (leaving == guests_.end()) name((*goes)->socket.peer(), "too many wait, and this one the longest");
    guests_.erase(goes);
  }
}

std::vector<Arrival> Reception::look(double now_s, size_t most) {
  std::vector<Arrival> arrivals;
  take_new(now_s);
  if (listener_.starved()) most = std::min(most, guests_.size() / 2);  // the newest may be the one we wait for
  if (now_s >= next_read_s_) {
    next_read_s_ = now_s + kRead_s;
    for (const auto& guest : std::vector(guests_)) {
      read(*guest, now_s, arrivals);
      if (guest->socket.fd() < 0) {
        std::erase(guests_, guest);  // it has arrived
      } else if (guest->socket.closed()) {
        std::erase(guests_, guest);
      } else if (now_s > guest->until_s) {
        if (!guest->leaving) name(guest->socket.peer(), fmt::format("it has not said who it is within {:.0f} s", kHello_s));
        std::erase(guests_, guest);
      }
    }
  }
  make_room(most);
  return arrivals;
}

}  // namespace tessera
