#include "launch/node/hang_watch.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr double kTimeout = 10;

RankReport still(int rank, bool waiting) {
  RankReport report;
  report.rank = rank;
  report.speaks = true;
  report.waiting = waiting;
  return report;
}

// The second at which a hang is found, or -1; `change` alters the reports of each second.
double found_after(std::vector<RankReport> reports, const std::function<void(int, std::vector<RankReport>&)>& change) {
  HangWatch watch(kTimeout);
  for (int second = 0; second < 60; ++second) {
    for (RankReport& report : reports) report.unchanged_s += 1;
    change(second, reports);
    if (watch.hung(reports, second)) return second;
  }
  return -1;
}

const std::vector<RankReport> kOneWaits = {still(0, true), still(1, false)};

TEST(HangWatch, FindsRanksThatDoNotMove) {
  EXPECT_EQ(found_after(kOneWaits, [](int, auto&) {}), kTimeout);
}

TEST(HangWatch, AChangedStatusIsProgress) {
  EXPECT_EQ(found_after(kOneWaits, [](int second, auto& reports) { reports[1].sample = second; }), -1);
  EXPECT_EQ(found_after(kOneWaits,
                        [](int second, auto& reports) {
                          if (second == 7) reports[1].unchanged_s = 0;
                        }),
            7 + kTimeout);
}

TEST(HangWatch, WorkOutsideCollectivesIsProgress) {
  EXPECT_EQ(found_after(kOneWaits, [](int, auto& reports) { reports[1].busy = true; }), -1);
}

TEST(HangWatch, SpinningInACollectiveIsNot) {
  EXPECT_EQ(found_after(kOneWaits, [](int, auto& reports) { reports[0].busy = true; }), kTimeout);
}

TEST(HangWatch, ProgramsThatSayNothingAreNotWatched) {
  auto silent = kOneWaits;
  for (RankReport& report : silent) report.speaks = false;
  EXPECT_EQ(found_after(silent, [](int, auto&) {}), -1);
}

TEST(HangWatch, EndedRanksDoNotCount) {
  EXPECT_EQ(found_after(kOneWaits, [](int, auto& reports) { reports[0].ended = reports[1].ended = true; }), -1);
  EXPECT_EQ(found_after(kOneWaits, [](int, auto& reports) { reports[1].ended = true; }), kTimeout);
}

}  // namespace
}  // namespace tessera
