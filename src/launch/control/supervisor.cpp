#include "launch/control/supervisor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/log.h"
#include "launch/node/blame.h"
#include "launch/node/rank_output.h"

namespace tessera {
namespace {

constexpr double kAftermath_s = 1;    // after a failure, for the cause to be told from its consequences
constexpr double kLongestEnd_s = 20;  // for killed ranks to be gone
constexpr int kBadUsage = 2;          // starting again would not help

int code_of(const RankReport& report) {
  return report.killed_by != 0 ? 128 + report.killed_by : std::max(1, report.exit_code);
}

std::string describe_failure(const RankReport& report, const fs::path& log_dir) {
  std::string text =
      fmt::format("rank {} on {} (process {}) failed: {}", report.rank, report.host, report.pid, describe_end(report));
  if (report.speaks) text += fmt::format("; it was at {}", describe_place(report));
  if (!report.error.empty()) text += fmt::format("; last error: {}", report.error);
  return text + fmt::format("; its output: {}", rank_log_path(log_dir, report.rank).string());
}

}  // namespace

Supervisor::Supervisor(const LaunchOptions& options, const LaunchLayout& layout, std::function<int()> choose_port)
    : options_(options),
      choose_port_(std::move(choose_port)),
      nodes_(static_cast<size_t>(layout.num_nodes)),
      world_size_(layout.world_size),
      world_given_(layout.world_given),
      hang_watch_(options.hang_timeout_s),
      restarts_left_(options.restarts) {}

void Supervisor::node_joined(int node, const std::string& host, int ranks, double now_s) {
  TSR_CHECK(ranks >= 1 && ranks <= kMostRanksPerNode, "node {} on {} brings {} ranks; expected 1 to {}", node, host, ranks,
            kMostRanksPerNode);
  nodes_.at(static_cast<size_t>(node)) = {true, false, host, ranks, 0, now_s, {}};
}

void Supervisor::node_lost(int node, const std::string& why) {
  Node& lost = nodes_.at(static_cast<size_t>(node));
  if (lost.lost || over()) return;
  lost.lost = true;
  if (state_ == State::kGathering) {
    finish(fmt::format("node {}{} is gone before the start: {}", node, lost.host.empty() ? "" : " on " + lost.host, why), 1);
    return;
  }
  const bool was_done = static_cast<int>(lost.reports.size()) == lost.ranks &&
                        std::all_of(lost.reports.begin(), lost.reports.end(), [](const auto& r) { return r.ended; });
  if (state_ == State::kRunning && !was_done) {
    end_ranks(fmt::format("node {} on {} is lost: {}", node, lost.host, why), 1);
  }
}

void Supervisor::ranks_reported(int node, int generation, std::vector<RankReport> reports, double now_s) {
  Node& from = nodes_.at(static_cast<size_t>(node));
  if (generation == generation_ && state_ != State::kGathering) {
    // Ends are counted: a rank that is reported twice, or by somebody else, would make up for one that still runs.
    std::set<int> numbers;
    for (const RankReport& report : reports) numbers.insert(report.rank);
    TSR_CHECK(static_cast<int>(reports.size()) == from.ranks && static_cast<int>(numbers.size()) == from.ranks &&
                  *numbers.begin() == from.first_rank && *numbers.rbegin() == from.first_rank + from.ranks - 1,
              "it reports {} ranks, and not those that it was given, {} from rank {} on", reports.size(), from.ranks,
              from.first_rank);
    from.reports = std::move(reports);
  }
  from.heard_s = now_s;
}

void Supervisor::stop_asked(int signal) {
  if (over()) return;
  if (state_ == State::kGathering) return finish("stopped before all nodes had come", 128 + signal);
  kill_now_ = kill_now_ || stop_signal_ != 0;
  stop_signal_ = signal;
  tell_all({.kind = Directive::Kind::kSignal, .signal = signal});
}

void Supervisor::give_up(const std::string& why, int exit_code) {
  if (!over()) finish(why, exit_code);
}

void Supervisor::tick(double now_s) {
  now_s_ = now_s;
  if (began_s_ < 0) began_s_ = now_s;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    if (node.here && !node.lost && now_s - node.heard_s > kSilence_s)
      node_lost(static_cast<int>(n), fmt::format("nothing heard of it for {:.0f} s", now_s - node.heard_s));
  }
  switch (state_) {
    case State::kGathering: {
      std::vector<size_t> missing;
      for (size_t n = 0; n < nodes_.size(); ++n) {
        if (!nodes_[n].here) missing.push_back(n);
      }
      if (missing.empty()) {
        if (world_given_ && ranks_left() != world_size_) {
          return finish(fmt::format("the nodes bring {} ranks, but the world size is {}", ranks_left(), world_size_), 1);
        }
        if (ranks_left() > kMostRanks)
          return finish(fmt::format("the nodes bring {} ranks; expected at most {}", ranks_left(), kMostRanks), 1);
        world_size_ = static_cast<int>(ranks_left());
        start();
      } else if (now_s - began_s_ > options_.start_timeout_s) {
        finish(fmt::format("{} of {} nodes did not come within {:.0f} s: node rank {}; were they started with this master "
                           "address and port?",
                           missing.size(), nodes_.size(), options_.start_timeout_s, fmt::join(missing, ", ")),
               1);
      }
      break;
    }
    case State::kRunning: look_at_ranks(now_s); break;
    case State::kEnding:
      if (all_ended() || now_s - ending_s_ > kLongestEnd_s) decide_after_end();
      break;
    case State::kOver: break;
  }
}

void Supervisor::start() {
  state_ = State::kRunning;
  failed_s_ = -1;
  hang_watch_.reset();
  const int port = choose_port_();
  const int world = static_cast<int>(ranks_left()),
            num_nodes = static_cast<int>(std::count_if(nodes_.begin(), nodes_.end(), [](const Node&n) { return !n.lost; }));
  int first_rank = 0, node_rank = 0;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    nodes_[n].reports.clear();
    if (nodes_[n].lost) continue;
    Directive directive;
    directive.kind = Directive::Kind::kStart;
    directive.generation = generation_;
    directive.world_size = world;
    directive.first_rank = first_rank;
    directive.num_nodes = num_nodes;
    directive.node_rank = node_rank++;
    directive.store_port = port;
    directives_.emplace_back(static_cast<int>(n), directive);
    nodes_[n].first_rank = first_rank;
    first_rank += nodes_[n].ranks;
  }
}

void Supervisor::look_at_ranks(double now_s) {
  const std::vector<RankReport> reports = all_reports();
  if (kill_now_) return end_ranks("stopped at once by a second signal", 128 + stop_signal_);
  if (static_cast<int64_t>(reports.size()) < ranks_left()) return;  // not all nodes have started theirs
  const auto failure = first_failure(reports);
  if (failure && failed_s_ < 0) failed_s_ = now_s;
  if (failure && (now_s - failed_s_ >= kAftermath_s || all_ended())) {
    return end_ranks(describe_failure(*failure, options_.log_dir), code_of(*failure));
  }
  if (!failure && all_ended()) {
    int code = 0;
    for (const RankReport& report : reports) code = std::max(code, report.exit_code);
    return finish("", code);
  }
  if (hang_watch_.hung(reports, now_s)) {
    const Blame blame = blame_for_hang(reports);
    end_ranks(fmt::format("no rank has moved for {:.0f} s; {}\n{}", options_.hang_timeout_s, blame.text, status_table(reports)),
              1);
  }
}

void Supervisor::end_ranks(const std::string& why, int exit_code) {
  state_ = State::kEnding;
  ending_s_ = now_s_;
  fault_ = why;
  fault_code_ = exit_code;
  tell_all({.kind = Directive::Kind::kKill});
}

void Supervisor::decide_after_end() {
  const int64_t left = ranks_left(), needed = options_.min_ranks > 0 ? options_.min_ranks : world_size_;
  if (options_.restarts == 0 || stop_signal_ != 0 || fault_code_ == kBadUsage) return finish(fault_, fault_code_);
  if (restarts_left_ == 0)
    return finish(fmt::format("{}\nall {} restarts are used up", fault_, options_.restarts), fault_code_);
  if (left < needed) {
    return finish(fmt::format("{}\n{} ranks are left, and {} are needed{}", fault_, left, needed,
                              options_.min_ranks > 0 ? "" : "; --min-ranks allows fewer"),
                  fault_code_);
  }
  --restarts_left_;
  ++generation_;
  log_warn("{}\nstarting again with {} ranks, restart {} of {}", fault_, left, options_.restarts - restarts_left_,
           options_.restarts);
  for (Node& node : nodes_) node.heard_s = node.lost ? node.heard_s : now_s_;
  start();
}

void Supervisor::finish(const std::string& text, int exit_code) {
  state_ = State::kOver;
  tell_all({.kind = Directive::Kind::kOver, .exit_code = exit_code, .text = text});
}

void Supervisor::tell_all(const Directive& directive) {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].here && !nodes_[n].lost) directives_.emplace_back(static_cast<int>(n), directive);
  }
}

std::vector<RankReport> Supervisor::all_reports() const {
  std::vector<RankReport> all;
  for (const Node& node : nodes_) {
    if (!node.lost) all.insert(all.end(), node.reports.begin(), node.reports.end());
  }
  return all;
}

bool Supervisor::all_ended() const {
  const std::vector<RankReport> reports = all_reports();
  return !reports.empty() && static_cast<int64_t>(reports.size()) == ranks_left() &&
         std::all_of(reports.begin(), reports.end(), [](const RankReport& r) { return r.ended; });
}

int64_t Supervisor::ranks_left() const {
  int64_t count = 0;
  for (const Node& node : nodes_) count += node.lost ? 0 : node.ranks;
  return count;
}

}  // namespace tessera
