#include "launch/node/affinity.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const std::vector<Core> kFour = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};  // two logical CPUs on each core

using Shares = std::vector<std::vector<Core>>;

TEST(Affinity, CutsNeighbouringCoresEvenly) {
  EXPECT_EQ(share_cores(kFour, {{}, {}}), (Shares{{{0, 4}, {1, 5}}, {{2, 6}, {3, 7}}}));
  EXPECT_EQ(share_cores(kFour, {{}, {}, {}}), (Shares{{{0, 4}}, {{1, 5}}, {{2, 6}, {3, 7}}}));
}

TEST(Affinity, BindsNobodyWhenCoresAreTooFew) {
  EXPECT_TRUE(share_cores(kFour, std::vector<std::vector<int>>(5)).empty());
}

TEST(Affinity, RanksStayBesideTheirGpu) {
  const std::vector<int> first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
  EXPECT_EQ(share_cores(kFour, {second, first}), (Shares{{{2, 6}, {3, 7}}, {{0, 4}, {1, 5}}}));
  EXPECT_EQ(share_cores(kFour, {second, second}), (Shares{{{2, 6}}, {{3, 7}}}));
}

TEST(Affinity, TooFewCoresBesideAGpuFallsBackToAll) {
  const std::vector<int> first = {0, 4};
  EXPECT_EQ(share_cores(kFour, {first, first}), (Shares{{{0, 4}, {1, 5}}, {{2, 6}, {3, 7}}}));
}

TEST(Affinity, OwnMaskBoundsTheCores) {
  size_t cpus = 0;
  for (const Core& core : allowed_cores()) cpus += core.size();
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_GT(cpus, 0U);
  EXPECT_LE(cpus, static_cast<size_t>(CPU_COUNT(&allowed)));
}

TEST(Affinity, ReadsCpuLists) {
  EXPECT_EQ(parse_cpu_list("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_TRUE(parse_cpu_list("").empty());
}

}  // namespace
}  // namespace tessera
