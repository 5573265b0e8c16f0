#pragma once
#include <memory>

#include "report/run_log.h"
#include "report/tensorboard.h"
#include "train/hooks/hook.h"

namespace tessera {

// log.jsonl: the append-only truth of the run, see Note [Run log].
class RunLogHook : public Hook {
 public:
  void on_start(const RunInfo& info) override;
  void on_log(const LogLine& line) override;
  void on_bad_sample(const BadSampleRecord& record) override;
  void on_warning(int64_t step, const std::string& text) override;
  void on_guard(const GuardEvent& event) override;
  void on_eval(const TrainState& state, double epoch, const EvalResult& result) override;
  void on_checkpoint(const TrainState& state) override;
  void on_end(const TrainState& state, const std::string& status) override;

 private:
  std::unique_ptr<RunLog> log_;
  ClassTable classes_;
};

// TensorBoard events: scalars, also of each class, and as pictures the confusion matrix and the worst predictions at the end of
// the run.
class TensorBoardHook : public Hook {
 public:
  void on_start(const RunInfo& info) override;
  void on_log(const LogLine& line) override;
  void on_guard(const GuardEvent& event) override;
  void on_eval(const TrainState& state, double epoch, const EvalResult& result) override;
  void on_end(const TrainState& state, const std::string& status) override;
  void on_pictures(const TrainState& state, const std::vector<DrawnPrediction>& best,
                   const std::vector<DrawnPrediction>& worst) override;

 private:
  void picture(const std::string& tag, const Image& drawn, int64_t step);

  std::unique_ptr<TensorBoardWriter> writer_;
  ClassTable classes_;
};

}  // namespace tessera
