#include "train/hooks/hooks.h"

#include "core/log.h"
#include "tensor/error_text.h"

namespace tessera {

void Hooks::on_start(const RunInfo& info) {
  for (auto& hook : hooks_) hook->on_start(info);
}

void Hooks::on_step(int64_t step) {
  for (auto& hook : hooks_) hook->on_step(step);
}

void Hooks::on_log(const LogLine& line) {
  for (auto& hook : hooks_) hook->on_log(line);
}

void Hooks::on_bad_sample(const BadSampleRecord& record) {
  for (auto& hook : hooks_) hook->on_bad_sample(record);
}

void Hooks::on_warning(int64_t step, const std::string& text) {
  for (auto& hook : hooks_) hook->on_warning(step, text);
}

void Hooks::on_guard(const GuardEvent& event) {
  for (auto& hook : hooks_) hook->on_guard(event);
}

void Hooks::on_eval(const TrainState& state, double epoch, const EvalResult& result) {
  for (auto& hook : hooks_) hook->on_eval(state, epoch, result);
}

void Hooks::on_checkpoint(const TrainState& state) {
  for (auto& hook : hooks_) hook->on_checkpoint(state);
}

void Hooks::on_end(const TrainState& state, const std::string& status) {
  for (auto& hook : hooks_) hook->on_end(state, status);
}

void Hooks::on_pictures(const TrainState& state, const std::vector<DrawnPrediction>& best,
                        const std::vector<DrawnPrediction>& worst) {
  for (auto& hook : hooks_) hook->on_pictures(state, best, worst);
}

std::string Hooks::wants_stop() const {
  for (const auto& hook : hooks_) {
    if (std::string reason = hook->wants_stop(); !reason.empty()) return reason;
  }
  return {};
}

void Hooks::tell_failure(const TrainState& state, const std::string& reason, const std::string& status) {
  for (auto& hook : hooks_) {
    try {
      hook->on_warning(state.step, reason);
      hook->on_end(state, status);
    } catch (const std::exception& e) {
      log_warn("{}", error_text(e));  // a full disk makes the log fail too
    }
  }
}

}  // namespace tessera
