#include "launch/node/blame.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tessera {
namespace {

// How surely a rank is the one that keeps the others: the smaller the surer, and among equals who is furthest behind.
std::tuple<int, int64_t, int64_t, int> suspicion(const RankReport& report) {
  int reason = 4;
  if (report.state == 'T' || report.state == 't') {
    reason = 0;
  } else if (report.ended) {
    reason = 1;
  } else if (report.speaks && !report.waiting) {
    reason = 2;
  } else if (!report.speaks) {
    reason = 3;
  }
  return {reason, report.collective, report.step, report.rank};
}

}  // namespace

std::optional<RankReport> first_failure(const std::vector<RankReport>& reports) {
  std::vector<RankReport> failed;
  std::copy_if(reports.begin(), reports.end(), std::back_inserter(failed), [](const RankReport& r) { return r.failed(); });
  if (failed.empty()) return std::nullopt;
  // The last thing a rank writes into its status is its error, so the status that has not changed for longest was first.
  const auto order = [](const RankReport& r) {
    const bool killed = r.killed_by != 0;
    return std::tuple(!killed, -(r.speaks && !killed ? std::max(r.unchanged_s, r.ended_s) : r.ended_s), r.rank);
  };
  return *std::min_element(failed.begin(), failed.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
}

Blame blame_for_hang(const std::vector<RankReport>& reports) {
  if (reports.empty()) return {};
  const RankReport& first = *std::min_element(reports.begin(), reports.end(),
                                              [](const auto& a, const auto& b) { return suspicion(a) < suspicion(b); });
  const bool all_alike = std::all_of(reports.begin(), reports.end(), [&](const RankReport& r) {
    return std::get<0>(suspicion(r)) == 4 && r.collective == first.collective;
  });
  if (all_alike && reports.size() > 1) {
    return {std::nullopt, fmt::format("all ranks wait in collective {}: none is behind the others; look at the network between "
                                      "the hosts, or at the driver",
                                      first.collective)};
  }
  std::string why = "it is behind the others";
  if (first.state == 'T' || first.state == 't')
    why = "its process is stopped";
  else if (first.ended)
    why = "it has ended already";
  else if (!first.waiting && first.state == 'D')
    why = "it is stuck in the disk or a driver";
  else if (!first.waiting)
    why = "it takes part in no collective and does nothing";
  return {first.rank, fmt::format("the others wait for rank {} on {} (process {}), at {}: {}", first.rank, first.host,
                                  first.pid, describe_place(first), why)};
}

}  // namespace tessera
