#pragma once
#include <sched.h>
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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

// Starts `script` in a session of its own, its output appended to `output`; the file `process` is made first, and where it is
// there already nothing happens and 0 is returned, else the process's number. Throws Error where nothing was started.
pid_t start_detached(const std::filesystem::path& folder, const std::filesystem::path& script,
                     const std::filesystem::path& output, const std::vector<int>& cpus);

// This start of this machine, and this process's namespace of process numbers, as containers have their own.
std::string boot_id();

}  // namespace tessera
