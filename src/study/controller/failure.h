#pragma once
#include <string>

#include "study/controller/log_follower.h"
#include "study/executor/executor.h"

namespace tessera {

// Why a trial's job did not end well, and what can help.
struct Failure {
  enum class Kind {
    kDiverged,  // its numbers are no longer finite: these parameters do not train
    kMemory,    // it found too little memory: alone on its device it may have enough
    kRefused,   // its config or its data: it would be refused again
    kPlace,     // nobody can write there: no trial could
    kKilled,    // by a signal, or lost with its machine: it can go on
    kError      // anything else
  };
  Kind kind = Kind::kError;
  std::string reason;
};

// `job` has ended with an exit code other than 0, or is lost.
Failure failure_of(const JobStatus& job, const LogFollower& log);

}  // namespace tessera
