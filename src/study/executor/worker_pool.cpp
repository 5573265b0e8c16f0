#include "study/executor/worker_pool.h"

#include <sys/wait.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "study/executor/job_files.h"

namespace tessera {

WorkerPool::Place WorkerPool::place_for(const Place& wanted, const std::set<int>& taken) {
  const auto fits = [&](const Worker& worker) {
    return worker.idle() && worker.place.variables == wanted.variables && worker.place.cpus.size() == wanted.cpus.size() &&
           std::none_of(worker.place.cpus.begin(), worker.place.cpus.end(), [&](int cpu) { return taken.contains(cpu); });
  };
  const auto found = std::find_if(workers_.begin(), workers_.end(), fits);
  if (found != workers_.end()) return found->place;
  end_idle();
  return wanted;
}

void WorkerPool::start(const std::string& name, const fs::path& folder, const std::vector<std::string>& words,
                       const Place& place, JobClaim claim) {
  const HandedJob job{fs::absolute(folder).lexically_normal(), words, std::move(claim)};
  for (Worker& worker : workers_) {
    if (!worker.idle() || worker.place != place) continue;
    if (note_process(job.claim, worker.pid) && hand_over(worker.link, job)) {
      worker.job = name;
      worker.folder = folder;
      return;
    }
    worker.link = {};  // it is gone
  }
  WorkerLink link = make_worker_link();
  if (!hand_over(link.ours, job)) {
    give_up_claim(folder);
    fail("the job {} cannot be handed to a process", name);
  }
  std::vector<std::string> program = program_;
  program.push_back(std::to_string(link.theirs.get()));
  const pid_t pid = start_detached(
      folder, job.claim, {.words = program, .variables = place.variables, .cpus = place.cpus, .kept = link.theirs.get()});
  workers_.push_back({.pid = pid, .place = place, .link = std::move(link.ours), .job = name, .folder = folder});
}

// True where the process has ended.
bool WorkerPool::reap(Worker& worker, int options) {
  int how = 0;
  if (waitpid(worker.pid, &how, options) == 0) return false;
  const int code = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
  if (!worker.job.empty() && code != 0 && !read_exit_code(worker.folder)) {
    try {
      leave_exit_code(worker.folder, code);
    } catch (const Error& e) {
      log_warn("{}", e.what());  // the job is lost then
    }
  }
  return true;
}

void WorkerPool::look() {
  workers_.remove_if([&](Worker& worker) { return reap(worker, WNOHANG); });
}

void WorkerPool::wait_for_end(const std::string& name) {
  workers_.remove_if([&](Worker& worker) { return worker.job == name && reap(worker, 0); });
}

void WorkerPool::note_end(const std::string& name, int exit_code) {
  for (Worker& worker : workers_) {
    if (worker.job != name) continue;
    worker.job.clear();
    if (exit_code != 0) worker.link = {};
  }
  // What failed may have found too little memory.
  if (exit_code != 0) end_idle();
}

void WorkerPool::note_stop(const std::string& name) {
  for (Worker& worker : workers_) {
    if (worker.job == name) worker.link = {};
  }
}

void WorkerPool::end_idle() {
  for (Worker& worker : workers_) {
    if (worker.job.empty()) worker.link = {};
  }
}

}  // namespace tessera
