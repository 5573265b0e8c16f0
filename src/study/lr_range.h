#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

// The rates of a learning-rate range test: from low to high, each the same factor above the one before.
struct LrSweep {
  double low = 1e-7, high = 10;
  int64_t steps = 100;

  double factor() const;
  double rate(int64_t step) const;  // step 0, 1, ..., steps - 1
};

// What a learning-rate range test found (Smith 2015): the loss of one step at each rate, and what follows from the curve.
//
// The curve is smoothed from both ends, so that it lies neither behind nor ahead of the losses. `steepest` is the rate at which
// it falls fastest per decade, before its minimum; `tenth_of_minimum` is a tenth of the rate of its minimum, above which
// training is about to diverge. The suggestion is the steepest: there most is learned per step. Where the curve never falls,
// there is none.
struct LrRangeCurve {
  std::vector<double> rates, losses, smoothed;
  bool diverged = false;  // ended early because of it
  bool falls = false;
  double steepest = 0, minimum = 0, tenth_of_minimum = 0;
};

// Takes a run's losses, one step after another.
class LrRangeTest {
 public:
  explicit LrRangeTest(const LrSweep& sweep) : sweep_(sweep) {}

  void add(double loss);
  // The smoothed loss is more than four times its least one, or no number, or all steps are taken.
  bool ended() const { return diverged() || static_cast<int64_t>(losses_.size()) >= sweep_.steps; }
  bool diverged() const { return diverged_; }
  size_t size() const { return losses_.size(); }

  LrRangeCurve result() const;

 private:
  LrSweep sweep_;
  std::vector<double> losses_;
  double average_ = 0, weight_ = 0, least_ = 0;  // of the losses so far
  bool diverged_ = false;
};

}  // namespace tessera
