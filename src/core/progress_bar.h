#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace tessera {

// A line on the terminal that is redrawn in place: "train  ep 3/30  [#####>    ]  512/5190  loss 0.12 ... ETA 1:20". On
// anything but a terminal it prints nothing: the owner logs plain lines instead. There is one such line per process, and the
// newest bar has it: an older one (of trials around a run, of a run that failed and is not gone yet) draws again when that has
// ended.
class ProgressBar {
 public:
  ProgressBar(std::string title, int64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Redraws at most ten times a second, and always at the end.
  void update(int64_t done, const std::string& details = "");

  static bool on_terminal();

 private:
  bool has_line();  // takes it where nobody has it
  void draw(int64_t done, const std::string& details);

  std::string title_;
  int64_t total_;
  int64_t first_ = -1;  // where this process began, so that a resumed run does not boast
  std::chrono::steady_clock::time_point start_, last_;
};

std::string format_seconds(double seconds);  // "45 s", "3:20", "1:02:03"

}  // namespace tessera
