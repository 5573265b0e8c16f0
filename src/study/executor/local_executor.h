#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "launch/node/affinity.h"
#include "study/executor/executor.h"

namespace tessera {

// Note [Jobs of this machine]
// A job is a shell script in a session of its own, so that neither a closed terminal nor its controller's end reaches it. In
// its folder lies the file `process`: who makes it (O_EXCL) starts the job, and the job's processes keep it locked as long as
// one of them lives, however they end. Its text (machine, cores, and the line of /proc that has the first process's number and
// start) is written by that process itself, before it becomes the shell. So
//   no file                            the job was never started
//   exit code                          it has ended
//   locked                             it runs
//   neither                            it is lost; or its controller died on the way to start it, and nothing was
// and no number of a process that was given anew is ever taken for the job. On file systems without locks the process's number,
// its start and the machine's boot take the lock's place.

// Jobs on this machine. Each that asks for cores gets some of its own, bound to them, which also sets its number of threads.
class LocalExecutor final : public Executor {
 public:
  // `program`: what runs the jobs' arguments; this program itself where it is empty.
  explicit LocalExecutor(std::vector<std::string> program = {});

  void start(const Job& job) override;
  JobStatus poll(const Job& job) override;
  void stop(const Job& job) override;
  // As many as there are cores for: one for each where a job does not say.
  std::optional<int> most_at_once(const Job& job) const override;

 private:
  std::vector<Core> free_cores(int wanted) const;

  std::vector<std::string> program_;
  std::vector<Core> cores_;
  double cpu_quota_ = 0;                           // CPUs that may be busy at once
  std::map<std::string, std::vector<int>> bound_;  // CPUs of the jobs that run
  std::map<std::string, pid_t> children_;          // those to be asked for their end, or they stay as zombies
};

}  // namespace tessera
