#include "core/progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>

#include "core/log.h"

namespace tessera {
namespace {

constexpr int kBarCells = 24;

std::atomic<const ProgressBar*> drawn{nullptr};  // the bar that has the terminal's last line

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

void wipe() {
  std::fputs("\r\033[K", stderr);
}

}  // namespace

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  const auto total = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  if (total < 60) return fmt::format("{} s", total);
  if (total < 3600) return fmt::format("{}:{:02}", total / 60, total % 60);
  return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

bool ProgressBar::on_terminal() {
  return ::isatty(STDERR_FILENO) != 0;
}

ProgressBar::ProgressBar(std::string title, int64_t total)
    : title_(std::move(title)), total_(total), start_(std::chrono::steady_clock::now()), last_(start_) {
  if (!on_terminal()) return;
  drawn = this;
  set_before_log(wipe);
}

ProgressBar::~ProgressBar() {
  const ProgressBar* own = this;
  if (!drawn.compare_exchange_strong(own, nullptr)) return;
  wipe();
  std::fflush(stderr);
  set_before_log(nullptr);
}

bool ProgressBar::has_line() {
  const ProgressBar* nobody = nullptr;
  if (drawn.compare_exchange_strong(nobody, this)) set_before_log(wipe);
  return drawn == this;
}

void ProgressBar::update(int64_t done, const std::string& details) {
  if (!on_terminal() || !has_line()) return;
  const auto now = std::chrono::steady_clock::now();
  if (first_ < 0) {
    first_ = done;
    start_ = now;
  }
  if (done < total_ && done != first_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  draw(done, details);
}

void ProgressBar::draw(int64_t done, const std::string& details) {
  const double share = total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 1.0;
  const int filled = static_cast<int>(share * kBarCells);
  const double elapsed = std::chrono::duration<double>(last_ - start_).count();
  const int64_t here = done - first_;
  const double left = here > 0 ? elapsed / static_cast<double>(here) * static_cast<double>(total_ - done) : INFINITY;
  std::string bar;
  for (int i = 0; i < kBarCells; ++i) bar += i < filled ? "━" : "─";
  std::string line = fmt::format("{} {} {}/{}  {}  ETA {}", title_, bar, done, total_, details, format_seconds(left));
  // Columns, not bytes: the bar's characters take three bytes each.
  const size_t room = static_cast<size_t>(terminal_columns() - 1 + 2 * kBarCells);
  if (line.size() > room) line.resize(room);
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace tessera
