#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera {

// What a run's log says while it grows: Note [Run log]. Only what is new is read, so looking often costs nothing.
class LogFollower {
 public:
  struct Evaluation {
    int64_t step = 0;
    double epoch = 0;
    std::vector<double> values = {};  // of the metrics asked for; NaN where it has none
  };

  LogFollower(std::filesystem::path log, std::vector<std::string> metrics);

  // Takes what has been written since. A log that is not there yet is empty; one that was begun anew is read anew.
  void read();

  const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  const std::vector<std::string>& known_metrics() const { return known_; }  // of the newest evaluation
  // Of the session that runs or ran last.
  const std::string& status() const { return status_; }    // of its end; empty: it has not come to one
  const std::string& warning() const { return warning_; }  // its last one: where it failed, why
  int64_t step() const { return step_; }
  int64_t total_steps() const { return total_; }
  double last_time() const { return time_; }  // unix seconds of the last line
  // Of all that there was.
  double memory_mb() const { return memory_mb_; }  // the most
  double images_per_s() const;                     // the median
  double parameters() const { return parameters_; }
  double seconds() const { return seconds_; }  // of training, as the last end tells

 private:
  void take(const nlohmann::json& line);

  std::filesystem::path path_;
  std::vector<std::string> metrics_, known_;
  ino_t file_ = 0;
  off_t offset_ = 0;
  std::string begun_;  // a line that has not ended yet
  std::vector<Evaluation> evaluations_;
  std::vector<double> speeds_;
  std::string status_, warning_;
  int64_t step_ = 0, total_ = 0;
  double time_ = 0, memory_mb_ = 0, seconds_ = 0;
  double parameters_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace tessera
