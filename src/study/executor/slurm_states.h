#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/executor/executor.h"

namespace tessera {

// A job as squeue or sacct prints it.
struct SlurmJob {
  std::string id = {};
  std::string name = {};
  std::string state = {};    // PENDING, RUNNING, TIMEOUT, ...; "CANCELLED by 1000" is CANCELLED
  std::string reason = {};   // why it waits, as Resources; squeue's alone
  std::string comment = {};  // squeue's alone
};

// What squeue is to print, and what is made of it. Lines that are no job's are left out.
inline constexpr const char* kSqueueFormat = "%i|%T|%r|%j|%k";
std::vector<SlurmJob> parse_squeue(std::string_view text);

inline constexpr const char* kSacctFormat = "JobIDRaw,State,JobName";
std::vector<SlurmJob> parse_sacct(std::string_view text);

// What a state means for a job that has left no exit code (yet).
JobStatus status_of_slurm(const SlurmJob& job);

// Whether Slurm is done with it.
bool is_over(const SlurmJob& job);

}  // namespace tessera
