#pragma once
#include <optional>
#include <string>
#include <vector>

#include "launch/node/rank_report.h"

namespace tessera {

// The failure the others followed from. When one rank dies its peers soon fail too, in the collective they shared: a kill comes
// before an error, and an earlier error before a later one. Nothing if no rank has failed.
std::optional<RankReport> first_failure(const std::vector<RankReport>& reports);

// Which rank the others wait for, and why we think so, once nothing moves.
struct Blame {
  std::optional<int> rank;  // none: all of them wait in the same collective
  std::string text;
};
Blame blame_for_hang(const std::vector<RankReport>& reports);

}  // namespace tessera
