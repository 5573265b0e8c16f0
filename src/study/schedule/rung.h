#pragma once
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "study/trial.h"

namespace tessera {

// The place of a trial in an order of scores: better ones first, of equal ones the one with the lower number.
struct Standing {
  double score = 0;
  int64_t trial = -1;
  bool operator<(const Standing& other) const { return score != other.score ? score > other.score : trial < other.trial; }
  bool operator==(const Standing&) const = default;
};

// The scores that trials had at one step. Thousands of trials cost little: they are kept in order.
class Rung {
 public:
  explicit Rung(int64_t step) : step_(step) {}

  int64_t step() const { return step_; }
  int64_t size() const { return static_cast<int64_t>(standings_.size()); }

  void record(const Standing& standing);  // once for a trial
  // How many others are better.
  int64_t rank(const Standing& standing) const;
  // The score below which a share of those other than this one lie, between two of them in proportion, as NumPy's percentile
  // has it. There must be another one.
  double quantile(double share, const Standing& without) const;

 private:
  int64_t step_;
  std::vector<Standing> standings_;  // best first
};

}  // namespace tessera
