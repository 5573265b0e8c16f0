#include "launch/node/hang_watch.h"

namespace tessera {
namespace {

bool moved(const RankReport& before, const RankReport& now) {
  // The status was written again if it is younger than it was, or says something else.
  const bool written =
      now.speaks && (now.unchanged_s < before.unchanged_s || now.step != before.step || now.phase != before.phase ||
                     now.collective != before.collective || now.sample != before.sample || now.waiting != before.waiting);
  return written || now.ended != before.ended || (now.busy && !now.waiting);
}

}  // namespace

bool HangWatch::hung(const std::vector<RankReport>& reports, double now_s) {
  bool any_speaks = false, any_runs = false;
  for (const RankReport& report : reports) {
    const auto [entry, is_new] = seen_.try_emplace(report.rank, report);
    if (is_new || moved(entry->second, report)) moved_s_ = now_s;
    entry->second = report;
    any_speaks = any_speaks || report.speaks;
    any_runs = any_runs || !report.ended;
  }
  return timeout_s_ > 0 && any_speaks && any_runs && now_s - moved_s_ >= timeout_s_;
}

}  // namespace tessera
