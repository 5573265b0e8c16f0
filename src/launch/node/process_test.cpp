#include "launch/node/process.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <csignal>

#include "core/error.h"
#include "launch/node/ports.h"
#include "launch/node/proc_sample.h"
#include "launch/node/rank_output.h"
#include "launch/node/status_file.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.words = {"sh", "-c", script};
  spec.environment = {"PATH=/usr/bin:/bin", "WHO=me"};
  return spec;
}

void wait_for_end(Process& process) {
  for (int i = 0; i < 6000 && !process.reap(); ++i) usleep(10000);
  ASSERT_TRUE(process.ended());
}

TEST(Process, RunsInItsOwnGroupAndEnds) {
  Process process(shell("exit 7"));
  wait_for_end(process);
  EXPECT_EQ(process.exit_code(), 7);
  EXPECT_EQ(process.killed_by(), 0);
}

TEST(Process, TellsTheSignal) {
  Process process(shell("sleep 100"));
  process.signal(SIGTERM);
  wait_for_end(process);
  EXPECT_EQ(process.killed_by(), SIGTERM);
  EXPECT_EQ(signal_name(SIGTERM), "TERM");
}

TEST(Process, AMissingProgramIsAnError) {
  ProcessSpec spec = shell("");
  spec.words = {"/nowhere/program"};
  EXPECT_THROW(Process process(spec), Error);
}

TEST(Process, ItsChildrenEndWithIt) {
  pid_t pid = 0;
  {
    Process process(shell("sleep 100 & sleep 100"));
    pid = process.pid();
    EXPECT_EQ(kill(-pid, 0), 0);
  }
  for (int i = 0; i < 1000 && kill(-pid, 0) == 0; ++i) usleep(10000);
  EXPECT_NE(kill(-pid, 0), 0);
}

TEST(ProcSample, SeesAStoppedProcess) {
  Process process(shell("kill -STOP $$; sleep 1"));
  char state = 'R';
  for (int i = 0; i < 3000 && state != 'T'; ++i) {
    state = sample_process(process.pid()).state;
    usleep(10000);
  }
  EXPECT_EQ(state, 'T');
}

TEST(ProcSample, SeesWhichSignalsAreCaught) {
  Process process(shell("trap 'trap - TERM' TERM; while :; do sleep 0.01; done"));
  const auto wait_for = [&](bool caught) {
    for (int i = 0; i < 3000 && sample_process(process.pid()).catches(SIGTERM) != caught; ++i) usleep(10000);
    EXPECT_EQ(sample_process(process.pid()).catches(SIGTERM), caught);
  };
  wait_for(true);
  kill(process.pid(), SIGTERM);
  wait_for(false);
}

TEST(RankOutput, KeepsBothStreamsAndTheLastLine) {
  const testing::TempFolder folder;
  const fs::path log = folder / "logs/rank-00.log";
  Process process(shell("echo one $WHO; echo two >&2; printf three >&2"));
  RankOutput output(0, log, false, Show::kNothing);
  wait_for_end(process);
  EXPECT_FALSE(output.take(process.out(), false));
  EXPECT_FALSE(output.take(process.err(), true));
  EXPECT_EQ(read_text(log), "one me\ntwo\nthree");
  EXPECT_EQ(output.last_line(), "three");
}

TEST(StatusFile, ARankWritesAndWeRead) {
  const StatusFile file;
  ProcessSpec spec = shell("printf '\\7' | dd of=" + file.path() + " conv=notrunc 2>/dev/null");  // the lowest byte of `step`
  spec.inherited = {file.fd()};
  EXPECT_EQ(file.status().step, -1);
  Process process(spec);
  wait_for_end(process);
  EXPECT_EQ(file.status().step & 0xFF, 7);
}

TEST(Ports, AReservedPortIsNotGivenTwice) {
  const ReservedPort first;
  const ReservedPort second(first.number());
  EXPECT_NE(first.number(), second.number());
  EXPECT_TRUE(port_is_free(first.number()));
}

}  // namespace
}  // namespace tessera
