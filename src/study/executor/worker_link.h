#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "study/executor/local_process.h"

namespace tessera {

// Note [Workers]
// A worker is a process that runs jobs of this machine one after another, so that libtorch is loaded, its kernels are made and
// the data sets are opened once and not for every stretch of every trial. Its controller hands it one job at a time through a
// socket: the words, and the open file `process` and output. The lock of the file `process` (Note [Jobs of this machine]) goes
// with the open file, so the job counts as running from the moment that it is handed over, also while it lies in the socket,
// and ends with the worker's own copy, which it closes when it has left the exit code. What becomes of
//   a job that fails or is stopped     its worker ends with it: nothing runs in a process in which something went wrong
//   a worker that crashes              only its job ends, with the signal's exit code, which it leaves itself (crash_code.h)
//   a worker that is killed            only its job is lost; its controller, if there is one, leaves the exit code for it
//   a controller that is killed        the worker sees the end of the socket, ends its job and then itself; the next controller
//                                      finds the job by its lock as any other one, and has workers of its own
//   a worker that is asked to stop     while it has no job it ends at once, else its job saves and ends

// The hidden command of this program that is a worker: `tessera worker SOCKET`.
inline constexpr const char* kWorkerCommand = "worker";

// A pair of ends; the second one is the worker's.
struct WorkerLink {
  Descriptor ours, theirs;
};
WorkerLink make_worker_link();

// A job on its way to a worker.
struct HandedJob {
  std::filesystem::path folder;
  std::vector<std::string> words;
  JobClaim claim;
};

// Whether the words are few enough to be handed over at all.
bool can_be_handed(const std::filesystem::path& folder, const std::vector<std::string>& words);
// False where no worker listens any more. The job's files stay open here too.
bool hand_over(const Descriptor& link, const HandedJob& job);

// The worker's life: waits for jobs, runs the words of each by `run`, which returns an exit code, and leaves it. Returns when
// there will be no more jobs. SIGINT, SIGTERM and SIGHUP are caught (catch_stop_signals) from here on.
void run_jobs(const Descriptor& link, const std::function<int(const std::vector<std::string>&)>& run);

}  // namespace tessera
