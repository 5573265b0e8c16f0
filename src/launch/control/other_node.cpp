#include <memory>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "launch/control/messages.h"
#include "launch/control/node_ranks.h"
#include "launch/control/node_roles.h"
#include "launch/control/sealed_socket.h"
#include "launch/node/stop_source.h"

namespace tessera {
namespace {

constexpr int kLook_ms = 200;
constexpr double kReport_s = 1;
constexpr size_t kLongestMessage = 4 << 20;

class OtherNode {
 public:
  OtherNode(const LaunchOptions& options, const LaunchLayout& layout, JobSecret& secret)
      : options_(options),
        layout_(layout),
        secret_(secret),
        stop_(poller_, options.reads_stdin),
        ranks_(options, layout, poller_),
        began_s_(monotonic_s()) {}

  int run() {
    while (!over_) {
      if (socket_) {
        listen(monotonic_s());
      } else {
        call();
      }
      if (!over_) poller_.wait(kLook_ms);
      if (!over_) pass_on_stops();
    }
    if (!text_.empty() && !options_.reads_stdin) log_error("{}", text_);  // else node 0 says it on the same terminal
    return exit_code_;
  }

 private:
  // Node 0 may be started later than we are, and only then the secret is where we look for it.
  void call() {
    FileHandle connection = connect_to(layout_.master_addr, layout_.master_port, why_);
    if (connection.open()) {
      if (const auto secret = secret_.look()) return say_hello(std::move(connection), *secret);
      why_ = fmt::format("it is there, but the secret of this job is not ({})", secret_.places());
    }
    TSR_CHECK(monotonic_s() - began_s_ < options_.start_timeout_s,
              "no launcher of node 0 found within {:.0f} s: {}; is it running, and are address and port right?",
              options_.start_timeout_s, why_);
  }

  void say_hello(FileHandle connection, const std::string& secret) {
    ranks_.set_secret(secret);
    socket_ = std::make_unique<SealedSocket>(LineSocket(std::move(connection), layout_.master_addr, kLongestMessage),
                                             SealedSocket::Side::kCaller, secret);
    poller_.watch(socket_->fd(), [] {});  // wakes the loop
    socket_->send(hello_text(make_hello(options_, layout_)));
    heard_s_ = monotonic_s();
  }

  // One round with node 0.
  void listen(double now) {
    read_directives(now);
    if (over_) return;
    if (!socket_->complaint().empty()) return finish(wrong_listener(), 1);
    const bool silent = now - heard_s_ > kSilence_s;
    // One that closes or keeps silent before it has answered may be busy with strangers.
    if (!welcome_) {
      if (socket_->closed() || silent) hang_up(silent ? "it does not answer" : "it closed the connection");
      return;
    }
    if (ranks_.notice_ends() || now - reported_s_ >= kReport_s) report(now);
    socket_->flush();
    if (socket_->closed()) return finish(lost("it has ended, or the connection is broken"), 1);
    if (silent) finish(lost(fmt::format("nothing heard for {:.0f} s", now - heard_s_)), 1);
  }

  void hang_up(const std::string& why) {
    why_ = fmt::format("{} port {}: {}", layout_.master_addr, layout_.master_port, why);
    poller_.forget(socket_->fd());
    socket_.reset();
  }

  void pass_on_stops() {
    const auto signals = stop_.take_signals();
    if (stop_.starter_gone()) return finish("the launcher that started this one is gone", 1);
    if (signals.empty()) return;
    if (!welcome_) return finish("", 128 + signals.front());
    for (const int number : signals) socket_->send(signal_text(number));
  }

  void read_directives(double now) {
    try {
      for (const std::string& text : socket_->receive()) {
        heard_s_ = now;
        welcome_ = true;
        obey(read_directive(text));
        if (over_) return;
      }
    } catch (const BadMessage& e) {
      finish(fmt::format("{}: {}", wrong_listener(), e.what()), 1);
    }
  }

  void obey(const Directive& directive) {
    if (directive.kind == Directive::Kind::kStart && directive.world_size - directive.first_rank < layout_.ranks_here)
      throw BadMessage("the world is too small for the ranks of this node");
    ranks_.obey(directive);
    if (directive.kind == Directive::Kind::kOver) finish(directive.text, directive.exit_code);
  }

  void report(double now) {
    reported_s_ = now;
    socket_->send(report_text(ranks_.generation(), ranks_.reports()));
  }

  void finish(const std::string& text, int exit_code) {
    over_ = true;
    text_ = text;
    exit_code_ = exit_code;
  }

  std::string wrong_listener() const {
    if (socket_->refused()) {
      return fmt::format(
          "the launcher of node 0 at {} port {} refuses this one: the two do not have the same secret; give both {}",
          layout_.master_addr, layout_.master_port, ways_to_give_a_secret());
    }
    return fmt::format(
        "what listens at {} port {} is no launcher of this job, or not of this version ({}); is the port in use by another "
        "job?",
        layout_.master_addr, layout_.master_port, socket_->complaint());
  }

  std::string lost(const std::string& why) const {
    return fmt::format("the launcher of node 0 at {} port {} is lost: {}", layout_.master_addr, layout_.master_port, why);
  }

  const LaunchOptions& options_;
  const LaunchLayout& layout_;
  JobSecret& secret_;
  Poller poller_;
  StopSource stop_;
  NodeRanks ranks_;
  std::unique_ptr<SealedSocket> socket_;
  bool welcome_ = false, over_ = false;  // welcome: node 0 has answered our hello
  std::string text_, why_;
  int exit_code_ = 0;
  double began_s_, heard_s_ = 0, reported_s_ = 0;
};

}  // namespace

int run_other_node(const LaunchOptions& options, const LaunchLayout& layout, JobSecret& secret) {
  return OtherNode(options, layout, secret).run();
}

}  // namespace tessera
