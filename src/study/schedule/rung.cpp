#include "study/schedule/rung.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tessera {

void Rung::record(const Standing& standing) {
  standings_.insert(std::lower_bound(standings_.begin(), standings_.end(), standing), standing);
}

int64_t Rung::rank(const Standing& standing) const {
  return std::lower_bound(standings_.begin(), standings_.end(), standing) - standings_.begin();
}

double Rung::quantile(double share, const Standing& without) const {
  const auto own = std::lower_bound(standings_.begin(), standings_.end(), without) - standings_.begin();
  const bool is_there = own < size() && standings_[static_cast<size_t>(own)] == without;
  const int64_t others = size() - (is_there ? 1 : 0);
  assert(others > 0);
  const auto ascending = [&](int64_t place) {  // of the others, the worst one is at 0
    int64_t from_best = others - 1 - place;
    if (is_there && from_best >= own) ++from_best;
    return standings_[static_cast<size_t>(from_best)].score;
  };
  const double at = static_cast<double>(others - 1) * share;
  const auto below = std::min(static_cast<int64_t>(at), others - 1);
  const double low = ascending(below), high = ascending(std::min(below + 1, others - 1));
  const double part = at - static_cast<double>(below);
  if (low == high || part == 0 || std::isinf(low)) return low;
  return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

}  // namespace tessera
