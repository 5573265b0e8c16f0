#include "core/signals.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace tessera {
namespace {

// In a process of its own: nothing takes back what a signal left.
[[noreturn]] void stop_between_two_runs() {
  catch_stop_signals();
  if (stop_signal() != 0) std::_Exit(1);
  std::raise(SIGINT);
  catch_stop_signals();
  std::_Exit(stop_signal() == SIGINT ? 0 : 2);
}

[[noreturn]] void close_the_terminal() {
  catch_stop_signals();
  std::raise(SIGHUP);
  std::_Exit(stop_signal() == SIGTERM ? 0 : 2);
}

TEST(SignalsDeathTest, ASignalBetweenTwoRunsIsKept) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(stop_between_two_runs(), ::testing::ExitedWithCode(0), "");
}

TEST(SignalsDeathTest, AClosedTerminalIsTakenForSigterm) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::signal(SIGHUP, SIG_DFL);  // as it is without nohup
  EXPECT_EXIT(close_the_terminal(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera
