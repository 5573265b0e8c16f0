#include <memory>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "launch/control/hello.h"
#include "launch/control/line_socket.h"
#include "launch/control/node_ranks.h"
#include "launch/control/node_roles.h"
#include "launch/node/stop_source.h"

namespace tessera {
namespace {

constexpr int kLook_ms = 200;
constexpr double kReport_s = 1;

class OtherNode {
 public:
  OtherNode(const LaunchOptions& options, const Layout& layout)
      : options_(options), layout_(layout), stop_(poller_, options.reads_stdin), ranks_(options, layout, poller_) {}

  int run() {
    if (!join()) return exit_code_;
    while (!over_) {
      poller_.wait(kLook_ms);
      const double now = monotonic_s();
      for (const int number : stop_.take_signals()) socket_->send(to_line({{"signal", number}}));
      if (stop_.starter_gone()) finish("the launcher that started this one is gone", 1);
      read_directives(now);
      if (!over_ && (ranks_.notice_ends() || now - reported_s_ >= kReport_s)) report(now);
      socket_->flush();
      if (over_) break;
      if (socket_->broken()) finish(lost("it has ended, or the connection is broken"), 1);
      if (now - heard_s_ > kSilence_s) finish(lost(fmt::format("nothing heard for {:.0f} s", now - heard_s_)), 1);
    }
    if (!text_.empty() && !options_.reads_stdin) log_error("{}", text_);  // else node 0 says it on the same terminal
    return exit_code_;
  }

 private:
  // Node 0 may be started later than we are.
  bool join() {
    const double began = monotonic_s();
    std::string why;
    while (!socket_) {
      FileHandle connection = connect_to(layout_.master_addr, layout_.master_port, why);
      if (connection.open()) {
        socket_ = std::make_unique<LineSocket>(std::move(connection), layout_.master_addr);
        break;
      }
      TSR_CHECK(monotonic_s() - began < options_.start_timeout_s,
                "no launcher of node 0 found within {:.0f} s: {}; is it running, and are address and port right?",
                options_.start_timeout_s, why);
      poller_.wait(kLook_ms);
      if (const auto signals = stop_.take_signals(); !signals.empty() || stop_.starter_gone()) {
        exit_code_ = signals.empty() ? 1 : 128 + signals.front();
        return false;
      }
    }
    poller_.watch(socket_->fd(), [] {});  // wakes the loop
    socket_->send(to_line({{"hello", make_hello(options_, layout_)}}));
    heard_s_ = monotonic_s();
    return true;
  }

  void read_directives(double now) {
    for (const std::string& line : socket_->receive()) {
      heard_s_ = now;
      try {
        obey(nlohmann::json::parse(line).get<Directive>());
      } catch (const nlohmann::json::exception&) {
        finish(fmt::format("what listens at {} port {} is no launcher of this version; is the port in use by another job?",
                           layout_.master_addr, layout_.master_port),
               1);
      }
      if (over_) return;
    }
  }

  void obey(const Directive& directive) {
    ranks_.obey(directive);
    if (directive.kind == Directive::Kind::kOver) finish(directive.text, directive.exit_code);
  }

  void report(double now) {
    reported_s_ = now;
    socket_->send(to_line({{"report", ranks_.reports()}, {"generation", ranks_.generation()}}));
  }

  void finish(const std::string& text, int exit_code) {
    over_ = true;
    text_ = text;
    exit_code_ = exit_code;
  }

  std::string lost(const std::string& why) const {
    return fmt::format("the launcher of node 0 at {} port {} is lost: {}", layout_.master_addr, layout_.master_port, why);
  }

  const LaunchOptions& options_;
  const Layout& layout_;
  Poller poller_;
  StopSource stop_;
  NodeRanks ranks_;
  std::unique_ptr<LineSocket> socket_;
  bool over_ = false;
  std::string text_;
  int exit_code_ = 0;
  double heard_s_ = 0, reported_s_ = 0;
};

}  // namespace

int run_other_node(const LaunchOptions& options, const Layout& layout) {
  return OtherNode(options, layout).run();
}

}  // namespace tessera
