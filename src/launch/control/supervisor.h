#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "launch/control/directive.h"
#include "launch/node/hang_watch.h"
#include "launch/node/rank_report.h"
#include "launch/options.h"

namespace tessera {

// The decisions of node 0: when the world starts, that something is wrong and who is to blame, whether it starts again. Knows
// neither sockets nor processes nor the clock; what it wants done comes out as directives to nodes.
class Supervisor {
 public:
  // choose_port() gives a port of node 0 on which rank 0 will serve the store.
  Supervisor(const LaunchOptions& options, const LaunchLayout& layout, std::function<int()> choose_port);

  // Throws Error for a number of ranks that no node has, and ranks_reported() for reports of ranks that are not the node's own.
  void node_joined(int node, const std::string& host, int ranks, double now_s);
  void node_lost(int node, const std::string& why);
  bool has_joined(int node) const { return node_at(node).here; }
  void ranks_reported(int node, int generation, std::vector<RankReport> reports, double now_s);
  void stop_asked(int signal);  // a second one ends the ranks at once
  void give_up(const std::string& why, int exit_code);
  void tick(double now_s);

  // (node, directive) in the order they are to be sent.
  std::vector<std::pair<int, Directive>> take_directives() { return std::exchange(directives_, {}); }
  bool over() const { return state_ == State::kOver; }

 private:
  enum class State { kGathering, kRunning, kEnding, kOver };
  struct Node {
    bool here = false, lost = false;
    std::string host;
    int ranks = 0, first_rank = 0;
    double heard_s = 0;
    std::vector<RankReport> reports;  // of the current generation
  };
  const Node& node_at(int node) const { return nodes_.at(static_cast<size_t>(node)); }
  void tell_all(const Directive& directive);
  void start();
  void look_at_ranks(double now_s);
  void end_ranks(const std::string& why, int exit_code);
  void decide_after_end();
  void finish(const std::string& text, int exit_code);
  std::vector<RankReport> all_reports() const;
  bool all_ended() const;
  int64_t ranks_left() const;

  LaunchOptions options_;
  std::function<int()> choose_port_;
  std::vector<Node> nodes_;
  int world_size_;
  bool world_given_;
  State state_ = State::kGathering;
  HangWatch hang_watch_;
  int generation_ = 0, restarts_left_;
  int stop_signal_ = 0;
  double now_s_ = 0, began_s_ = -1, failed_s_ = -1, ending_s_ = 0;
  bool kill_now_ = false;
  std::string fault_;
  int fault_code_ = 0;
  std::vector<std::pair<int, Directive>> directives_;
};

}  // namespace tessera
