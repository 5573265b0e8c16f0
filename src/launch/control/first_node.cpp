#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "launch/control/messages.h"
#include "launch/control/node_ranks.h"
#include "launch/control/node_roles.h"
#include "launch/control/reception.h"
#include "launch/control/supervisor.h"
#include "launch/node/ports.h"
#include "launch/node/stop_source.h"

namespace tessera {
namespace {

constexpr size_t kLongestMessage = 4 << 20, kMostStrangers = 16;

// Strangers may hold a small part of the files that the ranks need too.
size_t most_strangers() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return kMostStrangers;
  return std::min<size_t>(kMostStrangers, files.rlim_cur / 4);
}

// The launcher of another node, once it has joined.
struct Peer {
  SealedSocket socket;
  int node;
};

class FirstNode {
 public:
  FirstNode(const LaunchOptions& options, const LaunchLayout& layout, JobSecret& secret)
      : stop_(poller_, options.reads_stdin),
        hello_(make_hello(options, layout)),
        secret_(secret),
        ranks_(options, layout, poller_),
        supervisor_(options, layout, [this, &layout] { return choose_port(layout); }) {
    const std::string known = secret.wait(0);  // that of node 0 is there from the beginning
    has_secret_ = !known.empty();
    ranks_.set_secret(known);
    if (layout.num_nodes > 1) reception_.emplace(layout.master_addr, layout.master_port, known, poller_);
    supervisor_.node_joined(0, hello_.host, layout.ranks_here, monotonic_s());
  }

  int run() {
    while (!supervisor_.over()) {
      poller_.wait(reception_ && reception_->waiting() > 0 ? kReadGuests_ms : kLook_ms);
      pass_on_stops();
      const bool ended = ranks_.notice_ends();
      const double now = monotonic_s();
      if (ended || now - looked_s_ >= kReport_s) {
        looked_s_ = now;
        supervisor_.ranks_reported(0, ranks_.generation(), ranks_.reports(), now);
        send_ticks(now);
      }
      greet_arrivals(now);
      read_peers();
      supervisor_.tick(monotonic_s());
      carry_out();
    }
    say_goodbye();
    if (!text_.empty()) log_error("{}", text_);
    return exit_code_;
  }

 private:
  static constexpr int kLook_ms = 200, kReadGuests_ms = static_cast<int>(Reception::kRead_s * 1e3);
  static constexpr double kReport_s = 0.5, kTick_s = 1, kGoodbye_s = 3;

  int choose_port(const LaunchLayout& layout) {
    const bool first_time = port_ == nullptr;
    port_.reset();
    secret_.all_have_it();
    // The user's own port serves a single host; on several nodes it is taken by us, and its neighbour is the first choice.
    const int preferred = layout.master_port == 0 ? 0 : layout.num_nodes > 1 ? layout.master_port + 1 : layout.master_port;
    port_ = std::make_unique<ReservedPort>(preferred);
    TSR_CHECK(
        !first_time || layout.num_nodes > 1 || preferred == 0 || port_->number() == preferred,
        "port {} of this host is in use by another job{}; give this one another with --master-port or MASTER_PORT, or none",
        preferred, port_->refusal());
    return port_->number();
  }

  void pass_on_stops() {
    for (const int number : stop_.take_signals()) supervisor_.stop_asked(number);
    for (const int node : stop_.take_lost_nodes()) {
      if (node > 0 && node < hello_.num_nodes && !supervisor_.has_joined(node))
        supervisor_.node_lost(node, "its launcher could not be started, or ended at once");
    }
    if (stop_.starter_gone()) supervisor_.give_up("the launcher that started this one is gone", 1);
  }

  void greet_arrivals(double now) {
    if (!reception_) return;
    const size_t others = static_cast<size_t>(hello_.num_nodes) - 1;
    for (Arrival& arrival : reception_->look(now, others - peers_.size() + most_strangers_)) greet(arrival, now);
  }

  void greet(Arrival& arrival, double now) {
    const Hello& hello = arrival.hello;
    std::string why = mismatch(hello_, hello);
    const bool expected = hello.node_rank > 0 && hello.node_rank < hello_.num_nodes && !supervisor_.has_joined(hello.node_rank);
    if (!expected && why.empty()) why = fmt::format("node {} has joined already", hello.node_rank);
    SealedSocket& socket = arrival.socket;
    if (why.empty()) {
      socket.allow_lines_of(kLongestMessage);
      socket.send(directive_text(Directive{}));  // it learns that it is at the right place
      peers_.push_back({std::move(socket), hello.node_rank});
      return supervisor_.node_joined(hello.node_rank, hello.host, hello.ranks, now);
    }
    // Who may be anybody learns nothing of this job.
    const std::string answer = fmt::format("the launcher of node 0 refuses this one: {}; is the port in use by another job?",
                                           has_secret_ ? why : "its version, command or place is another; node 0 says more");
    socket.send(directive_text(Directive{.kind = Directive::Kind::kOver, .exit_code = 1, .text = answer}));
    reception_->see_off(std::move(socket), why, now);
    // A node of this job that we wait for will not come any more; anybody else's must not end it.
    if (expected && has_secret_) supervisor_.give_up(why, 1);
  }

  void read_peers() {
    for (auto peer = peers_.begin(); peer != peers_.end();) {
      std::string why;
      try {
        for (const std::string& text : peer->socket.receive()) take_message(*peer, read_node_message(text));
        peer->socket.flush();
        if (peer->socket.broken()) why = "its launcher has ended, or the connection to it is broken";
        if (!peer->socket.complaint().empty()) why = peer->socket.complaint();
      } catch (const Error& e) {
        why = fmt::format("its launcher sent what no launcher sends: {}", e.what());
      }
      if (why.empty()) {
        ++peer;
        continue;
      }
      poller_.forget(peer->socket.fd());
      const int node = peer->node;
      peer = peers_.erase(peer);
      supervisor_.node_lost(node, why);
    }
  }

  void take_message(const Peer& peer, NodeMessage message) {
    if (message.signal != 0) return supervisor_.stop_asked(message.signal);
    supervisor_.ranks_reported(peer.node, message.generation, std::move(message.reports), monotonic_s());
  }

  void send_ticks(double now) {
    if (now - ticked_s_ < kTick_s) return;
    ticked_s_ = now;
    for (Peer& peer : peers_) peer.socket.send(directive_text(Directive{}));
  }

  void carry_out() {
    for (const auto& [node, directive] : supervisor_.take_directives()) {
      if (node == 0) {
        obey(directive);
        continue;
      }
      for (Peer& peer : peers_) {
        if (peer.node == node) peer.socket.send(directive_text(directive));
      }
    }
  }

  void obey(const Directive& directive) {
    ranks_.obey(directive);
    if (directive.kind != Directive::Kind::kOver) return;
    text_ = directive.text;
    exit_code_ = directive.exit_code;
  }

  // The others close their end when they have read the last word, those that were refused too.
  void say_goodbye() {
    const double began = monotonic_s();
    const auto some_leave = [this] { return reception_ && reception_->some_leave(monotonic_s()); };
    while ((some_leave() || !peers_.empty()) && monotonic_s() - began < kGoodbye_s) {
      poller_.wait(kLook_ms);
      std::erase_if(peers_, [this](Peer& peer) {
        peer.socket.flush();
        peer.socket.receive();
        if (peer.socket.broken()) poller_.forget(peer.socket.fd());
        return peer.socket.broken();
      });
    }
  }

  Poller poller_;
  StopSource stop_;
  Hello hello_;
  JobSecret& secret_;
  bool has_secret_ = false;
  size_t most_strangers_ = most_strangers();
  std::optional<Reception> reception_;
  std::unique_ptr<ReservedPort> port_;
  std::vector<Peer> peers_;
  NodeRanks ranks_;
  Supervisor supervisor_;
  double looked_s_ = 0, ticked_s_ = 0;
  std::string text_;
  int exit_code_ = 0;
};

}  // namespace

int run_first_node(const LaunchOptions& options, const LaunchLayout& layout, JobSecret& secret) {
  return FirstNode(options, layout, secret).run();
}

}  // namespace tessera
