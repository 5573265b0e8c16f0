#include "launch/node/rank_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "core/signals.h"
#include "launch/node/process.h"

namespace tessera {
namespace {

std::string state_name(const RankReport& report) {
  if (report.ended) return "ended: " + describe_end(report);
  switch (report.state) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "in the disk or a driver";
    case 'T': return "stopped by a signal";
    case 't': return "held by a debugger";
    case 'Z': return "dead";
    default: return std::string(1, report.state);
  }
}

std::string or_dash(int64_t value) {
  return value >= 0 ? std::to_string(value) : "-";
}

}  // namespace

bool RankReport::stopped() const {
  return ended && killed_by == 0 && (exit_code == 128 + SIGINT || exit_code == 128 + SIGTERM || exit_code == kExitAgain);
}

bool RankReport::failed() const {
  return ended && !killed_by_us && !stopped() && (exit_code != 0 || killed_by != 0);
}

std::string describe_end(const RankReport& report) {
  if (!report.ended) return "running";
  if (report.killed_by == 0) return fmt::format("exit code {}", report.exit_code);
  const char* hint = report.killed_by == SIGKILL && !report.killed_by_us ? ", perhaps for lack of memory: see dmesg" : "";
  return fmt::format("killed by signal {} ({}){}", report.killed_by, signal_name(report.killed_by), hint);
}

std::string describe_place(const RankReport& report) {
  if (!report.speaks) return "a place it never told";
  std::string text = report.step >= 0 ? fmt::format("step {}, ", report.step) : "";
  text += phase_name(report.phase);
  if (report.waiting) text += fmt::format(", waiting in collective {}", report.collective);
  if (report.sample >= 0) text += fmt::format(", sample {}", report.sample);
  return text;
}

std::string status_table(const std::vector<RankReport>& reports) {
  size_t host_width = 4;
  for (const RankReport& r : reports) host_width = std::max(host_width, r.host.size());
  std::string text = fmt::format("{:>4}  {:<{}}  {:>8}  {:<18}  {:>10}  {:>8}  {:<7}  {:>7}  {}\n", "rank", "host", host_width,
                                 "step", "phase", "collective", "sample", "waiting", "still s", "process");
  for (const RankReport& r : reports) {
    text += fmt::format("{:>4}  {:<{}}  {:>8}  {:<18}  {:>10}  {:>8}  {:<7}  {:>7.1f}  {}\n", r.rank, r.host, host_width,
                        or_dash(r.step), r.speaks ? phase_name(r.phase) : "not known", r.collective, or_dash(r.sample),
                        r.waiting ? "yes" : "no", r.unchanged_s, state_name(r));
  }
  return text;
}

}  // namespace tessera
