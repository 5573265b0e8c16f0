#include "core/rank_status.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(RankStatus, RemembersWhatTheRankDoes) {
  const int64_t before = rank_status().collective;
  enter_phase(RankPhase::kReducing);
  enter_step(7);
  begin_collective();
  EXPECT_TRUE(rank_status().waiting);
  EXPECT_EQ(rank_status().collective, before + 1);
  const int64_t began = rank_status().changed_ns;
  end_collective();
  EXPECT_FALSE(rank_status().waiting);
  EXPECT_GE(rank_status().changed_ns, began);
  EXPECT_EQ(rank_status().step, 7);
  EXPECT_EQ(phase_name(rank_status().phase), "reducing");
}

TEST(RankStatus, TheFirstErrorOfARunCountsAndNoneOfTheRunBefore) {
  begin_run();
  note_error("the cause");
  note_error("what followed from it");
  EXPECT_STREQ(rank_status().error, "the cause");
  begin_run();
  EXPECT_STREQ(rank_status().error, "");
  EXPECT_EQ(rank_status().step, -1);
  note_error("another");
  EXPECT_STREQ(rank_status().error, "another");
}

TEST(RankStatus, CutsALongError) {
  begin_run();
  note_error(std::string(5000, 'x'));
  EXPECT_EQ(std::string(rank_status().error).size(), sizeof(RankStatus::error) - 1);
}

}  // namespace
}  // namespace tessera
