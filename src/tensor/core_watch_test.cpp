#include "tensor/core_watch.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <vector>

#include "core/cpu_budget.h"
#include "tensor/parallel_for.h"

namespace tessera {
namespace {

double own_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

// CPU seconds that threads use up by waiting in the pauses between small loops.
double cpu_s_of_waiting() {
  const double before = own_cpu_s();
  for (int i = 0; i < 40; ++i) {
    parallel_for(0, 2, 1, [](int64_t, int64_t) {});  // a call, so it is not left out
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return own_cpu_s() - before;
}

// A team as large as the machine, so that one thread more is too many; and a process that leaves it too few CPUs.
class CoreWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cpu_budget().allowed < 2) GTEST_SKIP() << "needs two CPUs";
    if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr)
      GTEST_SKIP() << "the environment says how threads wait";
    at::set_num_threads(cpu_budget().allowed);
  }
  void TearDown() override {
    at::set_num_threads(before_);
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  void keep_cpus_busy() {
    for (int i = 0; i < cpu_budget().allowed; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        while (true) ::getppid();  // a system call, so that the loop does something
      }
      children_.push_back(child);
    }
  }
  static bool comes(const CoreWatch& watch, bool sleeping) {
    for (int i = 0; i < 100 && watch.sleeping() != sleeping; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return watch.sleeping() == sleeping;
  }

 private:
  const int before_ = at::get_num_threads();
  std::vector<pid_t> children_;
};

TEST_F(CoreWatchTest, WaitingThreadsSleepBesideAnIdleTeam) {
  const double spinning = cpu_s_of_waiting();
  auto team = std::make_unique<IdleTeam>(2);
  const double sleeping = cpu_s_of_waiting();
  team.reset();
  const double again = cpu_s_of_waiting();
  EXPECT_LT(sleeping, 0.3 * spinning);
  EXPECT_LT(sleeping, 0.3 * again);
}

TEST_F(CoreWatchTest, NoticesOtherProcesses) {
  keep_cpus_busy();
  const CoreWatch watch;
  EXPECT_TRUE(comes(watch, true));
}

TEST_F(CoreWatchTest, OneThreadNeedsNoWatch) {
  at::set_num_threads(1);
  keep_cpus_busy();
  const CoreWatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_FALSE(watch.sleeping());
}

}  // namespace
}  // namespace tessera
