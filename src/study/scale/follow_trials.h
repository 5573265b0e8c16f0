#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "study/executor/executor.h"
#include "study/scale/scale_state.h"

namespace tessera {

// Where the parts of a scaling study lie.
struct ScaleFolders {
  std::filesystem::path study;
  std::filesystem::path run(const ScaleCell& cell) const { return study / "runs" / cell_name(cell); }
  std::filesystem::path job(const ScaleTrial& trial) const;
};

struct FollowOptions {
  std::string name;     // of the study: jobs are called NAME-CELL-ATTEMPT
  int64_t at_once = 0;  // jobs at a time; 0: as many as the executor takes
  int64_t retries = 3;
  double look_s = 1;  // between two looks
};

// Note [Following a scaling study]
// A trial's next job is written down (`attempt`, state running) before it is started, and a job is found by its name: whoever
// was killed in between finds a running trial whose job was never started, and starts it. A job that ended early and can go on
// (its time was up, its node failed, it was killed) is followed by another with the same arguments, among them --resume.
class TrialFollower {
 public:
  TrialFollower(ScaleFolders folders, FollowOptions options, ScaleState& state, Executor& executor);

  // Looks at every job once and starts what there is room for. True while a trial is unfinished. Throws Error where the place
  // of the jobs fails, or trainings cannot write; state is saved.
  bool step();
  // Until all are finished or a signal to stop has come; `changed` is called whenever a trial has ended.
  void run(const std::function<void()>& changed);
  // Asks all that run to save and end; they wait then.
  void stop();

  Job job_of(const ScaleTrial& trial) const;

 private:
  void look_at(ScaleTrial& trial);
  void ended(ScaleTrial& trial, const JobStatus& status);
  void start(ScaleTrial& trial);

  ScaleFolders folders_;
  FollowOptions options_;
  ScaleState& state_;
  Executor& executor_;
  bool could_not_write_ = false;  // a training, once: there may be room by now
};

}  // namespace tessera
