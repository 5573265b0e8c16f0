#pragma once
#include <string>
#include <vector>

#include "study/space/space.h"

namespace tessera {

// How a trial is drawn: the best one, one of the best tenth, any other, or one that was stopped.
enum class Look { kBest, kGood, kUsual, kStopped };

// A drawing of points and lines. x goes from 0 to 1; its ticks say what that is.
struct StudyPlot {
  struct Tick {
    double x = 0;
    std::string text = {};
  };
  struct Mark {
    double x = 0, y = 0;
    Look look = Look::kUsual;
    std::string hint = {};  // shown under the pointer
  };
  struct Line {
    std::vector<std::pair<double, double>> points = {};
    Look look = Look::kUsual;
    std::string hint = {};
  };
  std::string title = {}, note = {};
  std::vector<Tick> ticks = {};
  std::vector<Line> lines = {};
  std::vector<Mark> marks = {};
  bool wide = false;
};
std::string plot_figure(const StudyPlot& plot);

// The ends and about the middle of 0 .. last.
std::vector<StudyPlot::Tick> whole_ticks(int64_t last, const std::string& first, const std::string& unit);

// Three ticks over a parameter's range, or one for each of a few choices.
std::vector<StudyPlot::Tick> parameter_ticks(const Parameter& parameter);

// An axis for each parameter and one for the value, a line for each trial; a trial in which a parameter is not in use crosses
// below its axis.
struct ParallelLine {
  std::vector<double> shares = {};  // on each axis; below 0: not in use
  Look look = Look::kUsual;
  std::string hint = {};
};
struct ParallelAxis {
  std::string title = {}, low = {}, high = {};
};
std::string parallel_figure(const std::vector<ParallelAxis>& axes, const std::vector<ParallelLine>& lines);

}  // namespace tessera
