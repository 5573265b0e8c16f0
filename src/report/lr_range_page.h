#pragma once
#include <string>
#include <vector>

namespace tessera {

// A learning-rate range test to be drawn. Rates ascend; each has a loss and a smoothed loss.
struct LrRangeFigures {
  std::string config{};  // what was trained
  std::vector<double> rates{}, losses{}, smoothed{};
  bool diverged = false, falls = false;
  double steepest = 0, minimum = 0, tenth_of_minimum = 0;
};

// The curve alone, as an SVG file: losses over the rate's logarithm, with the rates of interest.
std::string lr_range_svg(const LrRangeFigures& figures);

// One self-contained HTML file with the curve and what to do with it.
std::string render_lr_range_page(const LrRangeFigures& figures);

}  // namespace tessera
