#pragma once
#include <memory>

#include "core/progress_bar.h"
#include "optim/ema_schedule.h"
#include "train/hooks/hook.h"

namespace tessera {

// The terminal: a live bar where there is one, plain lines elsewhere.
class ConsoleHook : public Hook {
 public:
  void on_start(const RunInfo& info) override;
  void on_step(int64_t step) override;
  void on_log(const LogLine& line) override;
  void on_bad_sample(const BadSampleRecord& record) override;
  void on_warning(int64_t step, const std::string& text) override;
  void on_guard(const GuardEvent& event) override;
  void on_eval(const TrainState& state, double epoch, const EvalResult& result) override;
  void on_end(const TrainState& state, const std::string& status) override;

 private:
  std::string averaged_text(int64_t step) const;

  std::string epochs_;
  Progress run_;  // as it began
  EmaConfig ema_;
  std::string best_metric_;
  ClassTable classes_;
  std::string details_;
  std::unique_ptr<ProgressBar> bar_;
};

}  // namespace tessera
