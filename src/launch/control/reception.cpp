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
  for (const auto& guest : guests_) poller_.forget(guest->socket.fd());
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

// Takes a copy: the caller's may be the one that goes.
void Reception::drop(std::shared_ptr<Guest> guest) {  // NOLINT(performance-unnecessary-value-param)
  poller_.forget(guest->socket.fd());
  std::erase(guests_, guest);
}

void Reception::take_new(double now_s) {
  for (LineSocket& connection : listener_.accept(now_s)) {
    auto guest = std::make_shared<Guest>(
        Guest{SealedSocket(std::move(connection), SealedSocket::Side::kListener, secret_), now_s + kHello_s});
    poller_.watch(guest->socket.fd(), [] {});  // wakes the loop
    guests_.push_back(std::move(guest));
  }
}

// What one that leaves still sends is read and forgotten: closing before it has read our last word would take that from it. It
// does not wake us any more, so that nobody keeps us busy by sending.
void Reception::let_go(Guest& guest, double now_s) {
  guest.socket.end_sending();
  guest.leaving = true;
  guest.until_s = now_s + kGoodbye_s;
  poller_.forget(guest.socket.fd());
}

void Reception::see_off(SealedSocket socket, const std::string& why, double now_s) {
  name(socket.peer(), why);
  guests_.push_back(std::make_shared<Guest>(Guest{std::move(socket), now_s}));
  guests_.back()->seen_off = true;
  let_go(*guests_.back(), now_s);
}

bool Reception::some_leave(double now_s) {
  for (const auto& guest : std::vector(guests_)) {
    if (guest->seen_off) guest->socket.receive();
    if (!guest->seen_off || guest->socket.closed() || now_s > guest->until_s) drop(guest);
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

std::vector<Arrival> Reception::look(double now_s, size_t most) {
  take_new(now_s);
  if (listener_.starved()) most = std::min(most, guests_.size() / 2);  // the newest may be the one we wait for
  std::vector<Arrival> arrivals;
  for (const auto& guest : std::vector(guests_)) {
    read(*guest, now_s, arrivals);
    if (guest->socket.fd() < 0) {
      std::erase(guests_, guest);  // it has arrived, and goes on waking us
    } else if (guest->socket.closed()) {
      drop(guest);
    } else if (now_s > guest->until_s) {
      if (!guest->leaving) name(guest->socket.peer(), fmt::format("it has not said who it is within {:.0f} s", kHello_s));
      drop(guest);
    }
  }
  while (guests_.size() > most) {
    const auto leaving = std::find_if(guests_.begin(), guests_.end(), [](const auto& guest) { return guest->leaving; });
    if (leaving == guests_.end()) name(guests_.front()->socket.peer(), "too many wait, and this one the longest");
    drop(leaving == guests_.end() ? guests_.front() : *leaving);
  }
  return arrivals;
}

}  // namespace tessera
