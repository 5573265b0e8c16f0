#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "study/controller/failure.h"
#include "study/controller/kept_checkpoints.h"
#include "study/controller/log_follower.h"
#include "study/controller/slots.h"
#include "study/controller/study_plan.h"
#include "study/controller/study_view.h"
#include "study/controller/trial_prices.h"
#include "study/controller/trial_run.h"
#include "study/executor/executor.h"
#include "study/schedule/scheduler.h"
#include "study/search/searcher.h"
#include "study/store/study_store.h"

namespace tessera {

// What somebody at the terminal wants.
enum class StudyWish {
  kNone,
  kFinish,      // no new trials; those that run come to the end of their stretch
  kStopTrials,  // they save and end, and go on with the next start
  kLeave        // they run on by themselves, and are found again
};

struct ControllerOptions {
  Machine machine = {};                    // for executors that leave places to the controller
  std::vector<Trial> earlier = {};         // of other studies, for the search to learn from first
  std::optional<int> executor_limit = {};  // else: how many jobs it takes at once
  std::function<StudyWish()> wish = [] { return StudyWish::kNone; };
  std::function<void(const StudyView&)> show = {};  // called often
  bool chatty = true;                               // a line of the log for every beginning and report too
  double pause_s = 0.2;                             // between two looks, at most, where nothing happens
};

// How a call of run() ended.
struct StudyEnd {
  bool complete = false;  // nothing is left to do; otherwise the same command goes on
  std::string text;       // why
};

// Runs a study: asks the searcher for trials, starts their trainings, follows their logs, and does with them what the scheduler
// decides. Everything it knows is in the store and in the runs' folders, so it may be killed at any moment and started again:
// Note [A trial's jobs]. One at a time per study.
class Controller {
 public:
  Controller(const StudyPlan& plan, StudyStore& store, Executor& executor, ControllerOptions options);

  // Throws Error for what no trial can be blamed for: the store, the executor or the disk.
  StudyEnd run();

 private:
  struct Live {
    Trial trial;
    TrialRun run;
    LogFollower log;
    bool queued = false;               // its job has not begun
    std::optional<double> price = {};  // of its ranks for a second; nothing: not known yet
  };

  static constexpr const char* kSeconds = "seconds";  // attribute of the study: how long it was at work

  void recall();
  void remember(const Trial& trial);
  void put_aside(const Trial& trial);
  Trial take_up(int64_t number);  // a paused one
  Live make_live(Trial trial) const;

  bool start_more();
  bool begin_new();
  void promote(const Promotion& promotion, const TrialPlace& place);
  void next_job(Live& live, int64_t until);
  void wait(Live& live);
  void start(Live& live);
  Job job_of(const Live& live) const;

  bool follow(Live& live);
  std::optional<Decision> judge(Live& live, int64_t below);
  bool watch(Live& live);
  void on_end(Live& live, const JobStatus& status);
  void on_stop(Live& live, const JobStatus& status);
  void on_failure(Live& live, const JobStatus& status);
  bool gets_further(Live& live) const;
  void proceed(Live& live, const Decision& decision);
  void copy(Live& live, int64_t from, const Assignment& parameters, int64_t until);
  void complete(Live& live);
  void pause(Live& live);
  void end(Live& live, TrialState state, const std::string& reason);
  void save(Live& live);

  std::string used_up();  // why nothing more is begun; empty: it may be
  bool out_of_time() const;
  double seconds() const;
  double cost() const;
  double pause() const;
  void stop_trials();
  StudyEnd finish(StudyWish wish);
  StudyView view() const;

  const StudyPlan& plan_;
  StudyStore& store_;
  Executor& executor_;
  ControllerOptions options_;
  std::unique_ptr<Searcher> searcher_;
  std::unique_ptr<Scheduler> scheduler_;
  Slots slots_;
  TrialPrices prices_;
  KeptCheckpoints kept_;
  bool keeps_ = false;  // checkpoints for others

  std::map<int64_t, Live> live_;
  std::map<int64_t, int64_t> paused_;  // by number the last step; there may be thousands, and the store has them
  std::vector<int64_t> ended_;         // numbers of all that have, ascending
  StudyCounts counts_;
  std::string best_parameters_;
  int64_t next_ = 0;
  bool exhausted_ = false;
  bool could_not_write_ = false;  // a trial, once: the next one ends the study
  bool stopping_ = false;         // trials were told to save and end
  bool holding_ = false;          // nothing is begun any more
  double spent_ = 0;              // by jobs that have ended
  double seconds_before_ = 0, begun_ = 0, start_failed_ = 0, last_event_ = 0;
};

}  // namespace tessera
