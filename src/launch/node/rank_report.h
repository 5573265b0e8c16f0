#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/rank_status.h"

namespace tessera {

// What a launcher knows of one of its ranks, as it goes to the launcher of node 0. Times are lengths, for hosts' clocks differ.
struct RankReport {
  int rank = 0;
  std::string host;
  int64_t pid = 0;

  bool speaks = false;  // it has written its status at least once
  int64_t step = -1, collective = 0, sample = -1;
  RankPhase phase = RankPhase::kStarting;
  bool waiting = false;
  double unchanged_s = 0;  // since it last wrote its status
  bool busy = false;       // used the processor or the disk since the last look
  char state = 'S';        // of the process, as in /proc: R running, S sleeping, D in the disk, T stopped, X ended

  bool ended = false;
  double ended_s = 0;  // how long ago
  int exit_code = 0, killed_by = 0;
  bool killed_by_us = false;
  std::string error;  // the last one it noted, else its last line of output

  bool failed() const;   // ended by itself and badly; a rank that stopped because it was asked to, or its time was up, has not
  bool stopped() const;  // exit code 130, 143 or kExitAgain
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankReport, rank, host, pid, speaks, step, collective, sample, phase, waiting, unchanged_s,
                                   busy, state, ended, ended_s, exit_code, killed_by, killed_by_us, error)

// "killed by signal 9 (KILL), perhaps for lack of memory: see dmesg", "exit code 1", "running".
std::string describe_end(const RankReport& report);

// "step 12, backward, sample 96", as far as it is known.
std::string describe_place(const RankReport& report);

// One line per rank with all of the above.
std::string status_table(const std::vector<RankReport>& reports);

}  // namespace tessera
