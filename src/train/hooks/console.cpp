#include "train/hooks/console.h"

#include "core/log.h"

namespace tessera {

void ConsoleHook::on_start(const RunInfo& info) {
  total_steps_ = info.total_steps;
  epochs_ = (info.total_steps + info.steps_per_epoch - 1) / info.steps_per_epoch;
  const Experiment& e = info.experiment;
  log_info("{} with {:.3f} M parameters on {}, {}", e.model.name, static_cast<double>(info.num_parameters) * 1e-6, info.device,
           name_of(e.train.precision));
  log_info("{} training and {} validation images, {} classes", info.num_train, info.num_val, info.classes.size());
  log_info("{} steps of {} images ({} epochs), results in {}", info.total_steps, e.train.batch_size, epochs_,
           info.folder.string());
  if (info.resumed) log_info("resumed at step {}", info.first_step);
  bar_ = std::make_unique<ProgressBar>("train", info.total_steps);
}

void ConsoleHook::on_step(int64_t step) {
  bar_->update(step, details_);
}

void ConsoleHook::on_log(const LogLine& line) {
  details_ = fmt::format("ep {:.1f}/{}  loss {:.4f}  lr {:.2e}  {:.1f} img/s  wait {:.0f}%  {:.0f} MB", line.epoch, epochs_,
                         line.loss, line.lr, line.images_per_s, line.data_wait * 100, line.memory_mb);
  if (line.skipped_steps > 0) details_ += fmt::format("  {} steps skipped", line.skipped_steps);
  if (ProgressBar::on_terminal()) {
    bar_->update(line.step, details_);
  } else {
    log_info("step {}/{}  {}", line.step, total_steps_, details_);
  }
}

void ConsoleHook::on_bad_sample(const BadSampleRecord& record) {
  log_warn("bad sample {}: {}; {}", record.id, record.reason,
           record.replaced_by.empty() ? "left out" : "replaced by " + record.replaced_by);
}

void ConsoleHook::on_warning(int64_t, const std::string& text) {
  log_warn("{}", text);
}

void ConsoleHook::on_eval(const TrainState& state, double epoch, const EvalResult& result) {
  log_info("eval at step {} (epoch {:.1f}){}: mean IoU {:.4f}  pixel accuracy {:.4f}  ({:.1f} img/s){}", state.step, epoch,
           result.averaged ? " of the averaged weights" : "", result.report.mean_iou_present, result.report.pixel_accuracy,
           static_cast<double>(result.num_images) / std::max(result.seconds, 1e-9),
           state.best_step == state.step ? "  best" : "");
}

void ConsoleHook::on_end(const TrainState& state, const std::string& status) {
  bar_.reset();
  log_info("{} at step {} after {}", status, state.step, format_seconds(state.seconds));
}

}  // namespace tessera
