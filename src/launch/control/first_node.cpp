#include <algorithm>
#include <memory>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "launch/control/hello.h"
#include "launch/control/line_socket.h"
#include "launch/control/node_ranks.h"
#include "launch/control/node_roles.h"
#include "launch/control/supervisor.h"
#include "launch/node/ports.h"
#include "launch/node/stop_source.h"

namespace tessera {
namespace {

struct Peer {
  LineSocket socket;
  int node = -1;  // unknown before its hello
  bool gone = false;
};

class FirstNode {
 public:
  FirstNode(const LaunchOptions& options, const Layout& layout)
      : stop_(poller_, options.reads_stdin),
        hello_(make_hello(options, layout)),
        ranks_(options, layout, poller_),
        supervisor_(options, layout, [this, &layout] { return choose_port(layout); }) {
    if (layout.num_nodes > 1) {
      listener_ = listen_on(layout.master_port);
      poller_.watch(listener_.fd(), [this] { accept_peers(); });
    }
    supervisor_.node_joined(0, hello_.host, layout.ranks_here, monotonic_s());
  }

  int run() {
    while (!supervisor_.over()) {
      poller_.wait(kLook_ms);
      pass_on_stops();
      const bool ended = ranks_.notice_ends();
      const double now = monotonic_s();
      if (ended || now - looked_s_ >= kReport_s) {
        looked_s_ = now;
        supervisor_.ranks_reported(0, ranks_.generation(), ranks_.reports(), now);
        send_ticks(now);
      }
      read_peers();
      supervisor_.tick(monotonic_s());
      carry_out();
    }
    say_goodbye();
    if (!text_.empty()) log_error("{}", text_);
    return exit_code_;
  }

 private:
  static constexpr int kLook_ms = 200;
  static constexpr double kReport_s = 0.5, kTick_s = 1, kGoodbye_s = 3;

  int choose_port(const Layout& layout) {
    const bool first_time = port_ == nullptr;
    port_.reset();
    // The user's own port serves a single host; on several nodes it is taken by us, and its neighbour is the first choice.
    const int preferred = layout.master_port == 0 ? 0 : layout.num_nodes > 1 ? layout.master_port + 1 : layout.master_port;
    port_ = std::make_unique<ReservedPort>(preferred);
    TSR_CHECK(!first_time || layout.num_nodes > 1 || preferred == 0 || port_->number() == preferred,
              "port {} of this host is in use by another job; give this one another with --master-port or MASTER_PORT, or none",
              preferred);
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

  void accept_peers() {
    for (LineSocket& socket : accept_all(listener_)) {
      auto peer = std::make_shared<Peer>(Peer{std::move(socket)});
      peers_.push_back(peer);
      poller_.watch(peer->socket.fd(), [] {});  // wakes the loop
    }
  }

  void read_peers() {
    for (const auto& peer : peers_) {
      for (const std::string& line : peer->socket.receive()) {
        try {
          take_message(*peer, nlohmann::json::parse(line));
        } catch (const nlohmann::json::exception&) {
          log_warn("{} sent something that is no message of a launcher; it is ignored", peer->socket.peer());
          peer->gone = true;
        }
        if (peer->gone) break;
      }
      peer->socket.flush();
      if (peer->socket.broken()) {
        peer->gone = true;
        if (peer->node > 0) supervisor_.node_lost(peer->node, "its launcher has ended, or the connection to it is broken");
      }
      if (peer->gone) poller_.forget(peer->socket.fd());
    }
    std::erase_if(peers_, [](const auto& peer) { return peer->gone; });
  }

  void take_message(Peer& peer, const nlohmann::json& message) {
    if (message.contains("hello") && peer.node < 0) {
      greet(peer, message["hello"].get<Hello>());
    } else if (message.contains("report") && peer.node > 0) {
      supervisor_.ranks_reported(peer.node, message["generation"], message["report"].get<std::vector<RankReport>>(),
                                 monotonic_s());
    } else if (message.contains("signal") && peer.node > 0) {
      supervisor_.stop_asked(message["signal"]);
    }
  }

  void greet(Peer& peer, const Hello& hello) {
    std::string why = mismatch(hello_, hello);
    const bool expected = hello.node_rank > 0 && hello.node_rank < hello_.num_nodes && !supervisor_.has_joined(hello.node_rank);
    if (!expected && why.empty()) why = fmt::format("node {} has joined already", hello.node_rank);
    if (why.empty()) {
      peer.node = hello.node_rank;
      return supervisor_.node_joined(hello.node_rank, hello.host, hello.ranks, monotonic_s());
    }
    log_warn("refused the launcher of {}: {}", peer.socket.peer(), why);
    const std::string answer =
        fmt::format("the launcher of node 0 refuses this one: {}; is the port in use by another job?", why);
    peer.socket.send(to_line(Directive{.kind = Directive::Kind::kOver, .exit_code = 1, .text = answer}));
    // Somebody else's node must not end a world that is whole; one that we wait for will not come any more.
    if (expected) supervisor_.give_up(why, 1);
  }

  void send_ticks(double now) {
    if (now - ticked_s_ < kTick_s) return;
    ticked_s_ = now;
    for (const auto& peer : peers_) peer->socket.send(to_line(Directive{}));
  }

  void carry_out() {
    for (const auto& [node, directive] : supervisor_.take_directives()) {
      if (node == 0) {
        obey(directive);
        continue;
      }
      for (const auto& peer : peers_) {
        if (peer->node == node) peer->socket.send(to_line(directive));
      }
    }
  }

  void obey(const Directive& directive) {
    ranks_.obey(directive);
    if (directive.kind != Directive::Kind::kOver) return;
    text_ = directive.text;
    exit_code_ = directive.exit_code;
  }

  // The others close their end when they have read the last word.
  void say_goodbye() {
    const double began = monotonic_s();
    while (!peers_.empty() && monotonic_s() - began < kGoodbye_s) {
      poller_.wait(kLook_ms);
      for (const auto& peer : peers_) {
        peer->socket.flush();
        peer->socket.receive();
        peer->gone = peer->socket.broken();
        if (peer->gone) poller_.forget(peer->socket.fd());
      }
      std::erase_if(peers_, [](const auto& peer) { return peer->gone; });
    }
  }

  Poller poller_;
  StopSource stop_;
  Hello hello_;
  FileHandle listener_;
  std::unique_ptr<ReservedPort> port_;
  std::vector<std::shared_ptr<Peer>> peers_;
  NodeRanks ranks_;
  Supervisor supervisor_;
  double looked_s_ = 0, ticked_s_ = 0;
  std::string text_;
  int exit_code_ = 0;
};

}  // namespace

int run_first_node(const LaunchOptions& options, const Layout& layout) {
  return FirstNode(options, layout).run();
}

}  // namespace tessera
