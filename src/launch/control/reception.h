#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launch/control/hello.h"
#include "launch/control/listener.h"
#include "launch/control/sealed_socket.h"

namespace tessera {

// Somebody who has the job's secret and says which node it is.
struct Arrival {
  SealedSocket socket;
  Hello hello;
};

// Where connections wait until they have shown that they belong to this job. Nobody there can end it, learn of it, or cost it
// more than a few kilobytes and a look now and then, however often it sends: who says nothing for ten seconds, or anything
// wrong, is dropped and named once; when too many wait, or the system has no more files, the oldest go, those who have shown
// the secret last. Knows no clock.
class Reception {
 public:
  Reception(const std::string& address, int port, std::string secret, Poller& poller);
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;
  ~Reception();

  const Listener& listener() const { return listener_; }

  // Takes new connections and reads the others; to be called often, at least every kRead_s while some wait, for what they send
  // wakes nobody. At most `most` wait afterwards.
  std::vector<Arrival> look(double now_s, size_t most);

  // One that is refused is named, reads what was sent to it last and closes; it has some seconds for that.
  void see_off(SealedSocket socket, const std::string& why, double now_s);

  // The job is over, and nobody else may come: whether there is one that was seen off and has not closed yet.
  bool some_leave(double now_s);

  size_t waiting() const { return guests_.size(); }

  static constexpr double kHello_s = 10, kGoodbye_s = 3, kRead_s = 0.03;
  static constexpr size_t kLongestHello = 16384;

 private:
  struct Guest {
    SealedSocket socket;
    double until_s;
    bool leaving = false, seen_off = false;
  };
  void take_new(double now_s);
  void read(Guest& guest, double now_s, std::vector<Arrival>& arrivals);
  void make_room(size_t most);
  void name(const std::string& peer, const std::string& why);
  void let_go(Guest& guest, double now_s);

  Poller& poller_;
  Listener listener_;
  std::string secret_;
  std::vector<std::shared_ptr<Guest>> guests_;  // the oldest first
  std::set<std::string> named_;
  size_t unnamed_ = 0;
  double next_read_s_ = 0;
};

}  // namespace tessera
