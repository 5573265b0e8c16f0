#include "study/controller/failure.h"

#include <fmt/format.h>

#include "launch/node/process.h"
#include "study/run_folder.h"

namespace tessera {
namespace {

constexpr int kBadUsage = 2, kFirstSignal = 128, kKill = 9, kMostSignals = 64;

bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

Failure failure_of(const JobStatus& job, const LogFollower& log) {
  const std::string said = !log.warning().empty() ? log.warning() : job.reason;
  const std::string& status = log.status();
  if (job.state == JobStatus::State::kLost)
    return {Failure::Kind::kKilled, "it was killed with its shell, or its machine failed"};
  if (status == "diverged") return {Failure::Kind::kDiverged, said};
  if (lacks_place(said)) return {Failure::Kind::kPlace, said};
  if (status == "out of memory" || says(said, "out of memory") || says(said, "not enough memory"))
    return {Failure::Kind::kMemory, said};
  if (job.exit_code == kFirstSignal + kKill)
    return {Failure::Kind::kKilled, "it was killed by signal 9 (KILL), perhaps for lack of memory: see dmesg"};
  if (job.exit_code > kFirstSignal && job.exit_code < kFirstSignal + kMostSignals)
    return {Failure::Kind::kKilled, fmt::format("it was ended by signal {} ({})", job.exit_code - kFirstSignal,
                                                signal_name(job.exit_code - kFirstSignal))};
  if (job.exit_code == kBadUsage) return {Failure::Kind::kRefused, said};
  return {Failure::Kind::kError, said.empty() ? fmt::format("exit code {}", job.exit_code) : said};
}

}  // namespace tessera
