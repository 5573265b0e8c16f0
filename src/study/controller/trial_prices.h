#pragma once
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "study/prices.h"

namespace tessera {

// What the ranks of a study's trials cost, by what their runs say that they run on.
class TrialPrices {
 public:
  // `needed`: money limits the study, so no device may be without a price.
  TrialPrices(std::optional<Prices> prices, int64_t ranks, bool needed);

  // Of a trial's ranks for a second; nothing where its run has not got so far as to say. Throws UsageError for a device that
  // needs a price and has none.
  std::optional<double> per_second(const std::filesystem::path& run);
  // The same as it was found last, for a trial of which it is not known yet; 0: never.
  double usual_per_second() const { return usual_; }

 private:
  std::optional<Prices> prices_;
  double ranks_;
  bool needed_;
  double usual_ = 0;
  std::set<std::string> missing_;  // devices, each told of once
};

}  // namespace tessera
