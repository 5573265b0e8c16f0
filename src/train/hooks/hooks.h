#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "train/hooks/hook.h"

namespace tessera {

// A list of hooks, told of everything as if it were one.
class Hooks : public Hook {
 public:
  // The hook stays the list's, and is there to be asked as long as the list is.
  template <class T>
  T& add(std::unique_ptr<T> hook) {
    T& added = *hook;
    hooks_.push_back(std::move(hook));
    return added;
  }

  void on_start(const RunInfo& info) override;
  void on_step(int64_t step) override;
  void on_log(const LogLine& line) override;
  void on_bad_sample(const BadSampleRecord& record) override;
  void on_warning(int64_t step, const std::string& text) override;
  void on_guard(const GuardEvent& event) override;
  void on_eval(const TrainState& state, double epoch, const EvalResult& result) override;
  void on_checkpoint(const TrainState& state) override;
  void on_end(const TrainState& state, const std::string& status) override;
  void on_pictures(const TrainState& state, const std::vector<DrawnPrediction>& best,
                   const std::vector<DrawnPrediction>& worst) override;
  std::string wants_stop() const override;  // what the first one says that wants it

  // on_warning and on_end of a run that failed, for every hook: one that fails too is only logged, as the first reason is the
  // one to report. status: of the run's end, "failed" or a more telling word.
  void tell_failure(const TrainState& state, const std::string& reason, const std::string& status = "failed");

 private:
  std::vector<std::unique_ptr<Hook>> hooks_;
};

}  // namespace tessera
