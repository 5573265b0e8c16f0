#include "dist/batch_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"

namespace tessera {
namespace {

std::vector<double> equal(int ranks) {
  return std::vector<double>(static_cast<size_t>(ranks), 1.0);
}

// Every sample that counts is on exactly one rank, every unit is complete, and its parts say the same of it.
void expect_complete(const BatchPlanOptions& o, int64_t micro_batch) {
  std::multiset<int64_t> positions;
  std::map<int64_t, int64_t> samples_of_unit, owners;
  const auto ranks = static_cast<int>(o.weights.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const RankSlice slice = plan_slice(o, rank);
    const std::set<int64_t> stand_ins(slice.stand_ins.begin(), slice.stand_ins.end());
    for (size_t i = 0; i < slice.positions.size(); ++i) {
      if (stand_ins.count(static_cast<int64_t>(i)) == 0) positions.insert(slice.positions[i]);
    }
    int64_t end = 0;
    for (const Pass& pass : slice.passes(micro_batch)) {
      EXPECT_EQ(pass.begin, end);
      end = pass.end;
      int64_t at = 0;
      for (const NormSegment& segment : pass.segments) {
        EXPECT_EQ(segment.begin, at);
        at = segment.end;
        EXPECT_GT(segment.end, segment.begin);
        EXPECT_EQ(segment.row >= 0, pass.rows > 0);
        EXPECT_LT(segment.row, pass.rows);
        if (!segment.counts) continue;
        samples_of_unit[segment.unit] += segment.end - segment.begin;
        owners[segment.unit] += segment.owner ? 1 : 0;
        for (int64_t i = segment.begin; i < segment.end; ++i) {
          EXPECT_EQ(slice.positions[static_cast<size_t>(pass.begin + i)] / std::min(o.unit, o.batch), segment.unit);
        }
      }
      EXPECT_EQ(at, pass.end - pass.begin);
    }
    EXPECT_EQ(end, static_cast<int64_t>(slice.positions.size()));
    EXPECT_EQ(slice.units, (o.batch + std::min(o.unit, o.batch) - 1) / std::min(o.unit, o.batch));
  }
  EXPECT_EQ(positions.size(), static_cast<size_t>(o.batch));
  EXPECT_EQ(std::set<int64_t>(positions.begin(), positions.end()).size(), static_cast<size_t>(o.batch));
  for (const auto& [unit, count] : samples_of_unit) {
    EXPECT_EQ(count, std::min(o.unit, o.batch - unit * o.unit)) << "unit " << unit;
    EXPECT_EQ(owners[unit], 1) << "unit " << unit;
  }
}

TEST(BatchPlan, EverySampleOnceForAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const int64_t batch : {1, 2, 7, 16, 20}) {
      for (const int64_t unit : {1, 2, 4, 16}) expect_complete({batch, unit, 0, equal(ranks)}, 0);
    }
  }
}

TEST(BatchPlan, UnequalRanksGetUnequalShares) {
  expect_complete({16, 4, 0, {3, 1}}, 2);
  expect_complete({16, 4, 0, {1, 2, 0.5}}, 0);
  EXPECT_EQ(plan_slice({16, 1, 0, {3, 1}}, 0).positions.size(), 12U);
}

TEST(BatchPlan, AsManyUnitsAsRanksNeedNoExchange) {
  for (int rank = 0; rank < 4; ++rank) {
    const RankSlice slice = plan_slice({32, 4, 0, equal(4)}, rank);
    ASSERT_EQ(slice.passes(0).size(), 1U);
    EXPECT_EQ(slice.passes(0)[0].rows, 0);
    EXPECT_EQ(slice.passes(4).size(), 2U);
  }
}

TEST(BatchPlan, MicroBatchSpreadsUnitsOverMoreRanks) {
  // One round would put 8 samples of a spread unit on each rank.
  const RankSlice slice = plan_slice({32, 16, 4, equal(4)}, 1);
  EXPECT_EQ(slice.rounds.size(), 2U);
  for (const Pass& pass : slice.passes(4)) EXPECT_LE(pass.end - pass.begin, 4);
  expect_complete({32, 16, 4, equal(4)}, 4);
}

TEST(BatchPlan, AMicroBatchThatCutsUnitsIsRefused) {
  EXPECT_THROW(plan_slice({16, 8, 4, equal(1)}, 0), UsageError);
  EXPECT_NO_THROW(plan_slice({16, 8, 4, equal(2)}, 0));
}

TEST(BatchPlan, GroupsOfRanksShareStatistics) {
  const RankSlice slice = plan_slice_by_group({16, 4, 0, equal(4)}, 2, 3);
  const Pass pass = slice.passes(0).at(0);
  EXPECT_EQ(pass.rows, 2);
  EXPECT_EQ(pass.segments[0].row, 1);
  EXPECT_EQ(pass.segments[0].unit_size, 8);
  EXPECT_FALSE(pass.segments[0].owner);
  EXPECT_EQ(plan_slice_by_group({16, 4, 0, equal(4)}, 1, 3).passes(0).at(0).rows, 0);
}

}  // namespace
}  // namespace tessera
