#include "study/search/tpe_branch.h"

#include <algorithm>

namespace tessera {
namespace {

// The youngest of the rest, so that a suggestion costs the same after any number of trials. Older ones weigh little by then.
constexpr size_t kMostOfRest = 1000;

}  // namespace

void TpeBranch::tell(int64_t number, const TpePoint& point, const Outcome& outcome, bool is_final) {
  known_[number] = {&point, outcome.kind == Outcome::Kind::kPending, is_final};
  split_.tell(number, outcome);
}

void TpeBranch::forget(int64_t number) {
  known_.erase(number);
  split_.forget(number);
}

void TpeBranch::drop(int64_t number) {
  known_.erase(number);
  split_.drop(number);
}

void TpeBranch::note_needed(std::set<int64_t>& needed) const {
  split_.note_needed([&](int64_t number) { return known_.at(number).is_final; }, needed);
  // So many younger ones leave a whole rest, whoever of them is good or left out.
  constexpr size_t kMostLookedAt = kMostOfRest + TpeSplit::kMostGood + 1;
  size_t final = 0;
  for (auto at = known_.rbegin(); at != known_.rend(); ++at) {
    if (final < kMostLookedAt || !at->second.is_final) needed.insert(at->first);
    final += at->second.is_final ? 1 : 0;
  }
}

TpeBranch::Parts TpeBranch::parts_without(int64_t number, bool pending_count) {
  TpeSplit::Good good = split_.good_without(number);
  Parts parts{.weights = std::move(good.weights)};
  for (const int64_t one : good.numbers) parts.good.emplace_back(one, known_.at(one).point);
  for (auto at = known_.rbegin(); at != known_.rend() && parts.rest.size() < kMostOfRest; ++at) {
    const auto& [one, known] = *at;
    const bool counts = one != number && (!known.is_pending || pending_count);
    if (counts && !std::binary_search(good.numbers.begin(), good.numbers.end(), one)) parts.rest.emplace_back(one, known.point);
  }
  std::reverse(parts.rest.begin(), parts.rest.end());
  return parts;
}

}  // namespace tessera
