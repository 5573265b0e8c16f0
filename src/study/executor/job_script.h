#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

// Note [A job starts once]
// A scheduler or an ssh connection may have taken a job over although its controller was never told so, and the next
// controller hands it over again. So the script of such a job makes a folder `started` beside itself before it does anything
// else: making a folder succeeds once, also on a network file system. Whoever comes later ends at once and touches nothing. In
// it the file `by` says who runs it.

inline constexpr const char* kJobClaim = "started";

// What makes up the script of a job.
struct JobScript {
  std::string heading = {};   // lines after the first: what the job is, and #SBATCH lines
  std::string own_name = {};  // shell text that says who runs it: "$SLURM_JOB_ID". Empty: whoever starts it sees to it that it
                              // starts once, as Note [Jobs of this machine] does
  std::vector<std::pair<std::string, std::string>> variables = {};  // exported, in this order
  std::vector<std::string> setup = {};                              // shell lines before the command, as `module load cuda`
  std::vector<std::string> before = {};                             // words of the shell before the command's: srun --exact
  std::vector<std::string> command = {};                            // words, which reach the program as they are
};

// The script for a job whose folder is `folder` (which all hosts see under this path), to be read by people too. It leaves the
// command's exit code in the folder (job_files.h) and outlives a SIGTERM to its process group: the command ends first.
std::string job_script(const std::filesystem::path& folder, const JobScript& parts);

// Who runs the job, "" where it has not got so far as to say; nothing where the script has not begun.
std::optional<std::string> claimed_by(const std::filesystem::path& folder);

}  // namespace tessera
