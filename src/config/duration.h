#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// A length of training with its unit: `25ep` epochs, `1000ba` batches (optimizer steps), `0.5dur` a share of the whole run.
struct Duration {
  enum class Unit { kEpochs, kBatches, kShare };
  double value = 0;
  Unit unit = Unit::kBatches;

  static Duration epochs(double n) { return {n, Unit::kEpochs}; }
  static Duration batches(double n) { return {n, Unit::kBatches}; }
  static Duration share(double n) { return {n, Unit::kShare}; }

  // "25ep" ... Throws Error with the forms expected, also for more than 10^12 epochs or batches.
  static Duration parse(std::string_view text);
  std::string text() const;

  // In optimizer steps, rounded to the nearest; `total` is the length of the run (needed for `dur` only). Throws UsageError
  // for more than 10^12.
  int64_t steps(int64_t steps_per_epoch, int64_t total) const;

  friend bool operator==(const Duration&, const Duration&) = default;
};

}  // namespace tessera
