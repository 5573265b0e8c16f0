#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/clock.h"

namespace tessera {

// What a sample goes through on its way into a batch.
enum class LoadStage { kRead, kDecode, kResize, kLabels, kTransform, kPlace };
inline constexpr std::array<std::string_view, 6> kLoadStageNames = {"read", "decode", "resize", "labels", "transform", "place"};

// Where the time of loading went, over any number of samples. A value of one thread; sums are made with +=.
struct StageTimes {
  std::array<int64_t, kLoadStageNames.size()> ns = {};
  int64_t samples = 0;
  int64_t planned = 0;  // of them those of which only a part was decoded and computed: Note [Planned geometry]

  StageTimes& operator+=(const StageTimes& other) {
    for (size_t i = 0; i < ns.size(); ++i) ns[i] += other.ns[i];
    samples += other.samples;
    planned += other.planned;
    return *this;
  }
  int64_t all_ns() const {
    int64_t sum = 0;
    for (const int64_t part : ns) sum += part;
    return sum;
  }
};

// Adds the time since the last call, or since it was made, to a stage. A clock is read in 20 ns, some ten times a sample.
class StageClock {
 public:
  explicit StageClock(StageTimes& times) : times_(times), last_(monotonic_ns()) {}
  void end(LoadStage stage) {
    const int64_t now = monotonic_ns();
    times_.ns[static_cast<size_t>(stage)] += now - last_;
    last_ = now;
  }

 private:
  StageTimes& times_;
  int64_t last_;
};

}  // namespace tessera
