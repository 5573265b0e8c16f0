#include "apps/requeue.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "launch/cluster/rank_environment.h"
#include "launch/node/process.h"

namespace tessera {
namespace {

// An array's job has an id of its own here, too.
std::string slurm_job() {
  const char* id = std::getenv("SLURM_JOB_ID");
  return id != nullptr ? id : "";
}

std::string all_of(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(got));
  return text;
}

}  // namespace

void check_requeue() {
  if (slurm_job().empty())
    fail_usage(
        "--requeue puts a job of Slurm back into its queue, and this is none (SLURM_JOB_ID is not set); elsewhere let a loop "
        "start the command again while it ends with 75");
}

void requeue_job() {
  const std::string job = slurm_job();
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  Process scontrol(
      {.words = {"scontrol", "requeue", job}, .file = {}, .environment = std::move(environment), .cores = {}, .inherited = {}});
  const std::string said = all_of(scontrol.err()) + all_of(scontrol.out());
  while (!scontrol.reap()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  TSR_CHECK(scontrol.exit_code() == 0 && scontrol.killed_by() == 0, "scontrol requeue {}: {}", job, printable(said));
  log_info("job {} is back in the queue; it goes on from the checkpoint", job);
}

}  // namespace tessera
