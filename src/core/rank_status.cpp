#include "core/rank_status.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <new>

#include "core/clock.h"
#include "core/fault.h"
#include "core/secrets.h"

namespace tessera {
namespace {

// The watched file must never stop a run: when it cannot be mapped, memory of our own serves as well.
void* mapped_file(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return nullptr;
  void* memory = ftruncate(file, sizeof(RankStatus)) == 0
                     ? mmap(nullptr, sizeof(RankStatus), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                     : MAP_FAILED;
  close(file);
  return memory == MAP_FAILED ? nullptr : memory;
}

RankStatus* make_status() {
  const char* path = std::getenv("TESSERA_STATUS_FILE");
  void* memory = path != nullptr && *path != '\0' ? mapped_file(path) : nullptr;
  return memory != nullptr ? new (memory) RankStatus : new RankStatus;
}

void touch() {
  rank_status().changed_ns = monotonic_ns();
}

}  // namespace

std::string_view phase_name(RankPhase phase) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "starting", "meeting the others", "loading data", "forward", "backward",
      "reducing", "optimizer",          "evaluating",   "saving",  "ending"};
  const auto index = static_cast<size_t>(phase);
  return index < kNames.size() ? kNames[index] : "unknown";
}

RankStatus& rank_status() {
  static RankStatus* const status = make_status();
  return *status;
}

void begin_run() {
  RankStatus& status = rank_status();
  status.step = -1;
  status.sample = -1;
  status.error[0] = '\0';
  touch();
}

void enter_phase(RankPhase phase) {
  rank_status().phase = phase;
  touch();
  fail_on_purpose(phase_name(phase), rank_status().step);
}

void enter_step(int64_t step) {
  rank_status().step = step;
  touch();
}

void begin_collective() {
  ++rank_status().collective;
  rank_status().waiting = true;
  touch();
}

void end_collective() {
  rank_status().waiting = false;
  touch();
}

void note_sample(int64_t index) {
  rank_status().sample = index;
  touch();
}

void note_error(const std::string& text) {
  RankStatus& status = rank_status();
  if (status.error[0] != '\0') return;  // what came first is the cause, and when it came tells ranks apart
  const size_t length = without_secrets(text).copy(status.error, sizeof(status.error) - 1);
  status.error[length] = '\0';
  touch();
}

}  // namespace tessera
