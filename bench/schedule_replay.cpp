// A scheduler on trainings that were recorded, for bench/asha.py, where nothing is trained. A line of JSON on standard input,
//   {"scheduler": "{type: asha}", "values": [[..], ..], "orders": [[2, 0, 1], ..], "goal": 0.9}
// with each training's value after every epoch (larger is better), and orders in which they begin. One trial runs at a time, as
// the controller lets it: paused ones that may go on first. For each order a line: epochs trained until a value of `goal` came
// (null: it never did), starts of processes until then, both in all, and the best value.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "core/error.h"
#include "study/schedule/make_scheduler.h"

namespace tessera {
namespace {

using nlohmann::json;
using Curves = std::vector<std::vector<double>>;

class Replay {
 public:
  Replay(const SchedulerConfig& scheduler, const Curves& curves, const std::vector<size_t>& order, double goal)
      : curves_(curves),
        order_(order),
        goal_(goal),
        scheduler_(make_scheduler(scheduler, {.max_steps = static_cast<int64_t>(curves.at(0).size()),
                                              .num_trials = static_cast<int64_t>(order.size())})) {}

  json run() {
    while (true) {
      if (const std::optional<Promotion> promotion = scheduler_->promote()) {
        Trial& trial = trials_.at(static_cast<size_t>(promotion->trial));
        trial.state = TrialState::kRunning;
        scheduler_->observe(trial);
        train(trial, promotion->until);
      } else if (trials_.size() < order_.size()) {
        Trial& trial =
            trials_.emplace_back(Trial{.number = static_cast<int64_t>(trials_.size()), .state = TrialState::kRunning});
        train(trial, scheduler_->decide(trial).until);
      } else {
        break;
      }
    }
    return {
        {"reached", reached_}, {"reached_starts", reached_starts_}, {"epochs", epochs_}, {"starts", starts_}, {"best", best_}};
  }

 private:
  void train(Trial& trial, int64_t until) {
    const std::vector<double>& curve = curves_.at(order_.at(static_cast<size_t>(trial.number)));
    ++starts_;
    while (trial.state == TrialState::kRunning) {
      const size_t epoch = trial.reports.size();
      if (epoch == curve.size()) {
        trial.state = TrialState::kComplete;
        break;
      }
      trial.reports.push_back({static_cast<int64_t>(epoch) + 1, curve[epoch]});
      ++epochs_;
      best_ = std::max(best_, curve[epoch]);
      if (curve[epoch] >= goal_ && reached_.is_null()) {
        reached_ = epochs_;
        reached_starts_ = starts_;
      }
      const Decision decision = scheduler_->decide(trial);
      switch (decision.kind) {
        case Decision::Kind::kGoOn: break;
        case Decision::Kind::kPause: trial.state = TrialState::kPaused; break;
        case Decision::Kind::kStop: trial.state = TrialState::kStopped; break;
        case Decision::Kind::kFinish: trial.state = TrialState::kComplete; break;
        case Decision::Kind::kCopy: fail("population-based training cannot be replayed");
      }
      const bool stretch_ends = trial.reports.back().step >= until;
      if (decision.kind == Decision::Kind::kGoOn && stretch_ends && epoch + 1 < curve.size()) {
        until = decision.until;
        ++starts_;
      }
    }
    scheduler_->observe(trial);
  }

  const Curves& curves_;
  const std::vector<size_t>& order_;
  double goal_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<Trial> trials_;
  int64_t epochs_ = 0, starts_ = 0;
  double best_ = 0;
  json reached_, reached_starts_;
};

void replay(const json& request) {
  const Node section =
      *parse_config("scheduler: " + request.at("scheduler").get<std::string>() + "\n", "request").find("scheduler");
  const SchedulerConfig scheduler = read_scheduler(section);
  const Curves curves = request.at("values");
  for (const auto& order : request.at("orders").get<std::vector<std::vector<size_t>>>())
    fmt::print("{}\n", Replay(scheduler, curves, order, request.at("goal")).run().dump());
}

}  // namespace
}  // namespace tessera

int main() {
  std::string line;
  std::getline(std::cin, line);
  tessera::replay(nlohmann::json::parse(line));
  return 0;
}
