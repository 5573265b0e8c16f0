#pragma once
#include <sys/types.h>

#include <filesystem>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "study/executor/local_process.h"
#include "study/executor/worker_link.h"

namespace tessera {

// The workers of one controller: Note [Workers]. They end when it does.
class WorkerPool {
 public:
  // `program`: the words that start a worker; the number of its socket is added to them.
  explicit WorkerPool(std::vector<std::string> program) : program_(std::move(program)) {}

  bool has_workers() const { return !program_.empty(); }

  // What the processes of a job have in common.
  struct Place {
    std::vector<std::string> variables;  // NAME=value
    std::vector<int> cpus;               // bound to these; empty: none
    bool operator==(const Place&) const = default;
  };
  // Where the next job runs, which wants such a place: that of an idle worker with the same variables and as many CPUs, none
  // of them taken; else the one that was wanted, and idle workers end, as they would only keep memory.
  Place place_for(const Place& wanted, const std::set<int>& taken);
  // Starts a claimed job in this place. Throws Error where it was not started.
  void start(const std::string& name, const std::filesystem::path& folder, const std::vector<std::string>& words,
             const Place& place, JobClaim claim);

  // Leaves the exit codes of jobs whose workers died before they could.
  void look();
  // As look(), but waits for the worker of this job, which is dying: its lock is gone.
  void wait_for_end(const std::string& name);
  // The job has ended, and its worker is idle, or gone where it failed.
  void note_end(const std::string& name, int exit_code);
  // The worker of a job that was asked to stop runs no other one.
  void note_stop(const std::string& name);

 private:
  struct Worker {
    pid_t pid = 0;
    Place place;
    Descriptor link;  // closed: it ends after its job
    std::string job = {};
    std::filesystem::path folder = {};  // of the job
    bool idle() const { return job.empty() && link.ok(); }
  };
  void end_idle();
  bool reap(Worker& worker, int options);

  std::vector<std::string> program_;
  std::list<Worker> workers_;
};

}  // namespace tessera
