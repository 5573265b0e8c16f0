#include "dist/batch_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/plural.h"

namespace tessera {
namespace {

// Where the stretches of the ranks begin and end in `count` samples: weights.size() + 1 numbers.
std::vector<int64_t> boundaries(int64_t count, const std::vector<double>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> ends{0};
  double sum = 0;
  for (const double weight : weights) {
    sum += weight;
    ends.push_back(std::llround(static_cast<double>(count) * sum / total));
  }
  return ends;
}

// One round of the plan, as all ranks see it.
struct Deal {
  int64_t first = 0, count = 0;  // samples of the global batch
  int64_t first_unit = 0;
  int64_t unit = 1, batch = 0;
  std::vector<int64_t> ends;

  int64_t units() const { return (count + unit - 1) / unit; }
  int64_t unit_begin(int64_t u) const { return u * unit; }  // from `first`
  int64_t unit_end(int64_t u) const { return std::min((u + 1) * unit, count); }
  bool holds_whole(size_t rank, int64_t u) const { return unit_begin(u) >= ends[rank] && unit_end(u) <= ends[rank + 1]; }
  bool touches(size_t rank, int64_t u) const {
    return std::max(unit_begin(u), ends[rank]) < std::min(unit_end(u), ends[rank + 1]);
  }
};

bool any_spread(const Deal& deal) {
  for (const int64_t end : deal.ends) {
    if (end % deal.unit != 0 && end != deal.count) return true;
  }
  return false;
}

// Units of a round that take part in its synced pass: those that are spread, and, so that every rank has something there,
// the first of a rank that holds whole ones only.
std::vector<int64_t> synced_units(const Deal& deal) {
  if (!any_spread(deal)) return {};
  std::vector<bool> chosen(static_cast<size_t>(deal.units()));
  for (size_t rank = 0; rank + 1 < deal.ends.size(); ++rank) {
    int64_t first_whole = -1;
    bool has_part = false;
    for (int64_t u = 0; u < deal.units(); ++u) {
      if (!deal.touches(rank, u)) continue;
      if (deal.holds_whole(rank, u)) {
        if (first_whole < 0) first_whole = u;
      } else {
        chosen[static_cast<size_t>(u)] = has_part = true;
      }
    }
    if (!has_part && first_whole >= 0) chosen[static_cast<size_t>(first_whole)] = true;
  }
  std::vector<int64_t> units;
  for (int64_t u = 0; u < deal.units(); ++u) {
    if (chosen[static_cast<size_t>(u)]) units.push_back(u);
  }
  return units;
}

// Adds the round to the slice of `rank`.
void add_round(RankSlice& slice, const Deal& deal, size_t rank) {
  Round round{.begin = static_cast<int64_t>(slice.positions.size()), .synced = {}, .whole = {}};
  const std::vector<int64_t> synced = synced_units(deal);
  round.rows = static_cast<int64_t>(synced.size());
  int64_t at = 0;
  const auto add = [&](int64_t u, int64_t row) {
    const int64_t begin = std::max(deal.unit_begin(u), deal.ends[rank]), end = std::min(deal.unit_end(u), deal.ends[rank + 1]);
    for (int64_t i = begin; i < end; ++i) slice.positions.push_back(deal.first + i);
    NormSegment segment{.begin = at,
                        .end = at + end - begin,
                        .unit = deal.first_unit + u,
                        .unit_size = deal.unit_end(u) - deal.unit_begin(u),
                        .row = row,
                        .owner = begin == deal.unit_begin(u)};
    at = segment.end;
    (row >= 0 ? round.synced : round.whole).push_back(segment);
  };
  for (size_t row = 0; row < synced.size(); ++row) {
    if (deal.touches(rank, synced[row])) add(synced[row], static_cast<int64_t>(row));
  }
  for (int64_t u = 0; u < deal.units(); ++u) {
    if (deal.touches(rank, u) && !std::binary_search(synced.begin(), synced.end(), u)) add(u, -1);
  }
  if (at == 0) {
    slice.stand_ins.push_back(round.begin);
    slice.positions.push_back(deal.first);
    const NormSegment alone{.begin = 0,
                            .end = 1,
                            .unit = deal.first_unit,
                            .unit_size = deal.unit_end(0),
                            .row = round.rows > 0 ? 0 : -1,
                            .counts = false,
                            .owner = false};
    (round.rows > 0 ? round.synced : round.whole).push_back(alone);
  }
  slice.rounds.push_back(std::move(round));
}

std::vector<Deal> deal_out(const BatchPlanOptions& o, int64_t units_per_round) {
  std::vector<Deal> deals;
  const int64_t step = units_per_round * o.unit;
  for (int64_t first = 0; first < o.batch; first += step) {
    const int64_t count = std::min(step, o.batch - first);
    deals.push_back({first, count, first / o.unit, o.unit, o.batch, boundaries(count, o.weights)});
  }
  return deals;
}

RankSlice slice_of(const std::vector<Deal>& deals, size_t rank) {
  RankSlice slice;
  for (const Deal& deal : deals) {
    add_round(slice, deal, rank);
    slice.units += deal.units();
  }
  return slice;
}

// Samples of the largest pass that cannot be cut further, over all ranks.
int64_t largest_piece(const std::vector<Deal>& deals, size_t ranks) {
  int64_t largest = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const Pass& pass : slice_of(deals, rank).passes(1)) largest = std::max(largest, pass.end - pass.begin);
  }
  return largest;
}

}  // namespace

std::vector<Pass> RankSlice::passes(int64_t micro_batch) const {
  std::vector<Pass> passes;
  for (const Round& round : rounds) {
    if (!round.synced.empty()) {
      passes.push_back({round.begin, round.begin + round.synced.back().end, round.synced, round.rows});
    }
    Pass pass;
    for (const NormSegment& segment : round.whole) {
      const int64_t size = segment.end - segment.begin;
      if (!pass.segments.empty() && micro_batch > 0 && pass.end - pass.begin + size > micro_batch) {
        passes.push_back(std::move(pass));
        pass = {};
      }
      if (pass.segments.empty()) pass.begin = pass.end = round.begin + segment.begin;
      NormSegment own = segment;
      own.begin = pass.end - pass.begin;
      own.end = own.begin + size;
      pass.segments.push_back(own);
      pass.end += size;
    }
    if (!pass.segments.empty()) passes.push_back(std::move(pass));
  }
  return passes;
}

RankSlice plan_slice(const BatchPlanOptions& options, int rank) {
  const size_t ranks = options.weights.size();
  BatchPlanOptions o = options;
  o.unit = std::min(o.unit, o.batch);
  const int64_t units = (o.batch + o.unit - 1) / o.unit;
  for (int64_t rounds = 1; rounds <= units; ++rounds) {
    const std::vector<Deal> deals = deal_out(o, (units + rounds - 1) / rounds);
    if (o.micro_batch == 0 || largest_piece(deals, ranks) <= o.micro_batch) return slice_of(deals, static_cast<size_t>(rank));
  }
  fail_usage(
      "train.micro_batch {} is less than what must stay together: a batch-norm group of {} samples on {} {}; raise it, use "
      "more ranks, or set train.norm_group lower (which defines a different experiment)",
      o.micro_batch, o.unit, ranks, plural(static_cast<int64_t>(ranks), "rank"));
}

RankSlice plan_slice_by_group(const BatchPlanOptions& o, int group, int rank) {
  const std::vector<int64_t> ends = boundaries(o.batch, o.weights);
  const auto ranks = static_cast<int>(o.weights.size());
  const int first = rank / group * group, last = std::min(first + group, ranks);
  const int64_t begin = ends[static_cast<size_t>(rank)], count = ends[static_cast<size_t>(rank) + 1] - begin;
  const int64_t unit_size = ends[static_cast<size_t>(last)] - ends[static_cast<size_t>(first)];
  if (count == 0) fail_usage("dist.norm_scope node and rank need a sample for every rank; {} ranks share {}", ranks, o.batch);
  if (o.micro_batch > 0 && count > o.micro_batch)
    fail_usage("train.micro_batch {} would change what dist.norm_scope={} means: a rank has {} samples; leave it at 0",
               o.micro_batch, group == 1 ? "rank" : "node", count);
  RankSlice slice;
  for (int64_t i = 0; i < count; ++i) slice.positions.push_back(begin + i);
  slice.units = (ranks + group - 1) / group;
  const bool shared = group > 1;
  const NormSegment segment{.begin = 0,
                            .end = count,
                            .unit = rank / group,
                            .unit_size = unit_size,
                            .row = shared ? rank / group : -1,
                            .owner = rank == first};
  Round round{.begin = 0, .synced = {}, .whole = {}, .rows = shared ? slice.units : 0};
  (shared ? round.synced : round.whole).push_back(segment);
  slice.rounds.push_back(std::move(round));
  return slice;
}

}  // namespace tessera
