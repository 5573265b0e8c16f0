#include "core/cpu_budget.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "core/error.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

// A /proc and a /sys/fs/cgroup of our own making.
class FakeRoot {
 public:
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    write_file(root_ / path, text + "\n");
  }
  std::optional<double> quota() const { return cgroup_quota(root_.path()); }

 private:
  testing::TempFolder root_;
};

TEST(CpuBudget, ReadsTheQuotaOfCgroupVersion2) {
  const FakeRoot root;
  root.put("proc/self/cgroup", "0::/jobs/a");
  root.put("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw");
  EXPECT_FALSE(root.quota());
  root.put("sys/fs/cgroup/jobs/a/cpu.max", "max 100000");
  EXPECT_FALSE(root.quota());
  root.put("sys/fs/cgroup/jobs/a/cpu.max", "350000 100000");
  EXPECT_DOUBLE_EQ(root.quota().value(), 3.5);
  root.put("sys/fs/cgroup/jobs/cpu.max", "200000 100000");  // the group above grants less
  EXPECT_DOUBLE_EQ(root.quota().value(), 2);
}

TEST(CpuBudget, ReadsTheQuotaOfCgroupVersion1) {
  const FakeRoot root;
  root.put("proc/self/cgroup", "8:pids:/x\n4:cpuset:/set\n2:cpu,cpuacct:/docker/abc\n0::/elsewhere");
  root.put("proc/self/mountinfo",
           "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
           "32 31 0:29 / /sys/fs/cgroup/cpu rw shared:5 - cgroup cgroup rw,cpu,cpuacct");
  root.put("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "-1");
  root.put("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(root.quota());
  root.put("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "50000");
  EXPECT_DOUBLE_EQ(root.quota().value(), 0.5);
}

TEST(CpuBudget, FindsItsGroupWhereAContainerShowsItAsTheRoot) {
  const FakeRoot root;
  root.put("proc/self/cgroup", "2:cpu:/docker/abc");
  root.put("proc/self/mountinfo", "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu");
  root.put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000");
  root.put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(root.quota().value(), 1.5);
}

TEST(CpuBudget, NoCgroupsNoQuota) {
  EXPECT_FALSE(FakeRoot().quota());
}

TEST(CpuBudget, TheSmallestBoundCounts) {
  EXPECT_EQ((CpuBudget{.online = 64, .allowed = 64}.cpus()), 64);
  EXPECT_EQ((CpuBudget{.online = 64, .allowed = 8}.cpus()), 8);
  EXPECT_EQ((CpuBudget{.online = 64, .allowed = 64, .quota = 1.5}.cpus()), 2);
  EXPECT_EQ((CpuBudget{.online = 64, .allowed = 1, .quota = 4.0}.cpus()), 1);
  EXPECT_EQ((CpuBudget{.online = 64, .allowed = 64, .quota = 0.2}.cpus()), 1);
}

TEST(CpuBudget, RanksShareTheHostAndKeepAMaskOfTheirOwn) {
  EXPECT_EQ((CpuBudget{.online = 8, .allowed = 8}.share(2)), 4);
  EXPECT_EQ((CpuBudget{.online = 8, .allowed = 4}.share(2)), 4);  // a launcher gave this rank its half already
  EXPECT_EQ((CpuBudget{.online = 64, .allowed = 64, .quota = 8.0}.share(4)), 2);
  EXPECT_EQ((CpuBudget{.online = 2, .allowed = 2}.share(4)), 1);
}

TEST(CpuBudget, LoaderThreadsAreThoseAskedForOrTheShareOfARank) {
  const CpuBudget eight{.online = 8, .allowed = 8};
  EXPECT_EQ(loader_threads(3, 4, eight), 3);
  EXPECT_EQ(loader_threads(0, 4, eight), 2);
}

TEST(CpuBudget, TheMaskOfThisProcessBoundsIt) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (unsigned cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(cpu_budget().cpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(CpuBudget, RefusesRanksThatNoHostWouldRun) {
  const CpuBudget two{.online = 2, .allowed = 2}, many{.online = 128, .allowed = 128};
  EXPECT_NO_THROW(check_ranks("--ranks", 16, two));
  EXPECT_NO_THROW(check_ranks("--ranks", 512, many));
  for (const int64_t ranks : {-1, 0, 17, 100000}) {
    EXPECT_EQ(
        testing::message_of<UsageError>([&] { check_ranks("--ranks", ranks, two); }),
        "--ranks expects 1 to 16 on this host with 2 CPUs, got " + std::to_string(ranks) + "; leave it out for one per device");
  }
}

}  // namespace
}  // namespace tessera
