#pragma once
#include <optional>

namespace tessera {

// When a run must stop so that what it has learned is saved before its time is up: as long before as the longest turn of it
// and the longest save took. Times are those of monotonic_s.
class TimeLimit {
 public:
  explicit TimeLimit(std::optional<double> ends_at_s) : ends_at_s_(ends_at_s) {}

  // Asked before each turn: whether a turn as long as the longest and a save could last beyond the end.
  bool leaves_no_turn();

  // Whether only the time for a save is left. Any thread may ask.
  bool leaves_no_time() const;

  // While it lives, the run is saved.
  class Save {
   public:
    explicit Save(TimeLimit& limit);
    ~Save();
    Save(const Save&) = delete;
    Save& operator=(const Save&) = delete;

   private:
    TimeLimit& limit_;
    double begin_s_;
  };

 private:
  bool reaches_end(double seconds) const;

  std::optional<double> ends_at_s_;
  std::optional<double> asked_s_;  // the last time
  double longest_turn_s_ = 0, longest_save_s_ = 0;
};

}  // namespace tessera
