#pragma once
#include <sched.h>
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace tessera {

// What the file `process` of a job says: Note [Jobs of this machine].
struct LocalProcess {
  std::string host;
  std::string boot;       // which start of which machine, and whose numbers of processes: boot_id()
  std::vector<int> cpus;  // that it is bound to; empty: none
  pid_t pid = 0;          // of the script, its session and its process group; 0: it has not got so far
  std::string start;      // of that process, in the kernel's ticks since boot
};

// Nothing where the job was never started.
std::optional<LocalProcess> read_local_process(const std::filesystem::path& folder);

// Whether any process of the job lives.
bool is_alive(const std::filesystem::path& folder, const LocalProcess& process);

// A job that is this caller's to start: its file `process`, locked, and its output, both open.
struct JobClaim {
  Descriptor process, output;
};
// Makes the file `process`. Nothing where it is there already; throws Error where it cannot be made. `cpus` is what the job is
// bound to.
std::optional<JobClaim> claim_job(const std::filesystem::path& folder, const std::vector<int>& cpus);
// The job was not started after all.
void give_up_claim(const std::filesystem::path& folder);
// Notes which process runs the job, where that process does not do so itself. False where it is gone.
bool note_process(const JobClaim& claim, pid_t pid);

struct DetachedProgram {
  std::vector<std::string> words;           // the first one is its path
  std::vector<std::string> variables = {};  // NAME=value, beside this process's own
  std::vector<int> cpus = {};               // that it is bound to; empty: none
  int kept = -1;                            // a descriptor that it has beside its streams, under the same number
};
// Starts a program for a claimed job, in a session of its own and with its output appended to the job's. It notes its own
// number before anything else. Throws Error where nothing was started; the claim is given up then.
pid_t start_detached(const std::filesystem::path& folder, const JobClaim& claim, const DetachedProgram& program);

// This start of this machine, and this process's namespace of process numbers, as containers have their own.
std::string boot_id();

}  // namespace tessera
