#include "apps/study_screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/clock.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/progress_bar.h"

namespace tessera {
namespace {

constexpr double kRedraw_s = 0.5;
constexpr size_t kMostRows = 16;

int lines_drawn = 0;  // the log wipes them before a line of its own

void wipe() {
  if (lines_drawn > 0) fmt::print(stderr, "\r\033[{}A\033[J", lines_drawn);
  lines_drawn = 0;
}

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

// Cut at the terminal's edge: a line that wraps could not be drawn over.
std::string cut(const std::string& text, int columns) {
  const std::string safe = printable(text);
  size_t bytes = 0;
  for (int letters = 0; bytes < safe.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(safe[bytes]) & 0xC0U) != 0x80U;
    if (begins && ++letters >= columns) break;
  }
  return safe.substr(0, bytes);
}

std::string head(const StudyView& view) {
  const StudyCounts& counts = view.counts;
  std::string text = fmt::format("study {}  ", view.name);
  text += view.trials > 0 ? fmt::format("{}/{} trials", counts.all, view.trials) : fmt::format("{} trials", counts.all);
  const auto add = [&](int64_t count, const char* what) {
    if (count > 0) text += fmt::format("  {} {}", count, what);
  };
  add(counts.running, "running");
  add(counts.paused, "paused");
  add(counts.complete, "complete");
  add(counts.stopped, "stopped");
  add(counts.failed, "failed");
  text += "  " + format_seconds(view.seconds);
  if (view.seconds_left > 0) text += fmt::format(" ({} left)", format_seconds(view.seconds_left));
  if (!view.currency.empty()) text += fmt::format("  {:.2f} {}", view.cost, view.currency);
  if (view.cost_left > 0) text += fmt::format(" ({:.2f} left)", view.cost_left);
  return text;
}

std::string row(const StudyView& view, const StudyView::Running& trial) {
  const std::string until = trial.until == kToTheEnd ? "end" : std::to_string(trial.until);
  const std::string value = trial.value ? fmt::format("{:.4f}", *trial.value) : "";
  return fmt::format("{:>6}  {:>11}  {:>4.0f} %  {:>10}  {:>8}  {}{}", trial.number,
                     fmt::format("{}/{} {}", trial.step, until, view.unit), trial.done * 100, value,
                     format_seconds(trial.seconds), trial.waits ? "(waits) " : "", trial.parameters);
}

}  // namespace

std::vector<std::string> study_lines(const StudyView& view, int columns) {
  std::vector<std::string> lines{head(view)};
  if (view.counts.best >= 0)
    lines.push_back(fmt::format("best {} {:.6g}: trial {}, {}", view.metric, view.counts.best_value, view.counts.best,
                                view.best_parameters));
  if (!view.running.empty())
    lines.push_back(
        fmt::format("{:>6}  {:>11}  {:>6}  {:>10}  {:>8}  parameters", "trial", "step", "done", view.metric, "time"));
  for (size_t i = 0; i < std::min(kMostRows, view.running.size()); ++i) lines.push_back(row(view, view.running[i]));
  if (view.running.size() > kMostRows) lines.push_back(fmt::format("  and {} more", view.running.size() - kMostRows));
  for (std::string& line : lines) line = cut(line, columns);
  return lines;
}

StudyScreen::StudyScreen() {
  if (ProgressBar::on_terminal()) set_before_log(wipe);
}

StudyScreen::~StudyScreen() {
  if (!ProgressBar::on_terminal()) return;
  wipe();
  std::fflush(stderr);
  set_before_log(nullptr);
}

void StudyScreen::show(const StudyView& view) {
  if (!ProgressBar::on_terminal() || monotonic_s() < drawn_ + kRedraw_s) return;
  drawn_ = monotonic_s();
  const std::vector<std::string> lines = study_lines(view, terminal_columns());
  wipe();
  for (const std::string& line : lines) fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
  lines_drawn = static_cast<int>(lines.size());
}

}  // namespace tessera
