#pragma once
#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "launch/node/affinity.h"
#include "study/executor/executor.h"
#include "study/executor/worker_pool.h"

namespace tessera {

// Note [Jobs of this machine]
// A job runs in a session of its own, so that neither a closed terminal nor its controller's end reaches it: as a shell script,
// or in a worker (Note [Workers]) where it may follow another one. In its folder lies the file `process`: who makes it (O_EXCL)
// starts the job, and the job's processes keep it locked as long as one of them lives, however they end. Its text says which
// machine and cores, and has the line of /proc with the first process's number and start, which that process writes before it
// does anything else; of several the last one counts. So
//   no file                            the job was never started
//   exit code                          it has ended
//   locked                             it runs
//   neither                            it is lost; or its controller died on the way to start it, and nothing was
// and no number of a process that was given anew is ever taken for the job. On file systems without locks the process's number,
// its start and the machine's boot take the lock's place.

// Jobs on this machine. Each that asks for cores gets some of its own, bound to them, which also sets its number of threads.
class LocalExecutor final : public Executor {
 public:
  // `program`: what runs the jobs' arguments; this program itself where it is empty. `worker`: the words that start a worker,
  // which gets its socket's number as one more and calls run_jobs(); empty: every job has a process of its own.
  explicit LocalExecutor(std::vector<std::string> program = {}, std::vector<std::string> worker = {});

  void start(const Job& job) override;
  JobStatus poll(const Job& job) override;
  void stop(const Job& job) override;
  // As many as there are cores for: one for each where a job does not say.
  std::optional<int> most_at_once(const Job& job) const override;

 private:
  std::set<int> taken_cpus() const;
  std::vector<int> free_cpus(int wanted_cores) const;

  std::vector<std::string> program_;
  std::vector<Core> cores_;
  double cpu_quota_ = 0;                           // CPUs that may be busy at once
  std::map<std::string, std::vector<int>> bound_;  // CPUs of the jobs that run
  std::map<std::string, pid_t> children_;          // those to be asked for their end, or they stay as zombies
  WorkerPool workers_;
};

}  // namespace tessera
