#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

enum class RankPhase : int32_t {
  kStarting,
  kMeeting,
  kLoading,
  kForward,
  kBackward,
  kReducing,
  kOptimizer,
  kEvaluating,
  kSaving,
  kEnding
};
std::string_view phase_name(RankPhase phase);

// What a process is doing now, for whoever watches it. It lies in the file that TESSERA_STATUS_FILE names, mapped into memory,
// so that a launcher can read it even when the process is stopped or dead; without the variable, in memory of its own.
struct RankStatus {
  std::atomic<int64_t> step{-1};
  std::atomic<int64_t> collective{0};  // collectives begun
  std::atomic<int64_t> sample{-1};     // the sample last asked for by the loader
  std::atomic<RankPhase> phase{RankPhase::kStarting};
  std::atomic<bool> waiting{false};    // in a collective: for the peers
  std::atomic<int64_t> changed_ns{0};  // CLOCK_MONOTONIC, which the processes of a host share, at the last change
  char error[1000] = {};               // the first error of the run, zero-terminated; empty: none
};

RankStatus& rank_status();

// A run begins in this process: it has taken no step yet, and the error of a run before it is not its own. Where ranks are
// threads, each calls it before any of them trains.
void begin_run();
void enter_phase(RankPhase phase);
void enter_step(int64_t step);
void begin_collective();  // waiting until end_collective
void end_collective();
void note_sample(int64_t index);
void note_error(const std::string& text);

}  // namespace tessera
