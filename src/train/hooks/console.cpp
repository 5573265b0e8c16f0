#include "train/hooks/console.h"

#include <cmath>

#include "core/log.h"
#include "core/plural.h"
#include "core/printable.h"
#include "infer/eval_metrics.h"

namespace tessera {
namespace {

// 0.04, 0.4, 2.5, 128.
std::string epochs_text(double epochs) {
  return epochs < 1 ? fmt::format("{:.2g}", epochs) : fmt::format("{}", std::round(10 * epochs) / 10);
}

constexpr double kMostOfIt = 0.5;

}  // namespace

void ConsoleHook::on_start(const RunInfo& info) {
  ema_ = info.experiment.train.ema;
  best_metric_ = info.experiment.checkpoint.best_metric;
  classes_ = info.classes;
  run_ = info.progress;
  epochs_ = epochs_text(static_cast<double>(run_.total) / static_cast<double>(run_.steps_per_epoch));
  const Experiment& e = info.experiment;
  log_info("{} with {:.3f} M parameters and {} classes on {}, {}", e.model.name,
           static_cast<double>(info.num_parameters) * 1e-6, info.classes.size(), info.device, name_of(e.train.precision));
  log_info("{} {} of {} {} ({} {}), results in {}", run_.total, plural(run_.total, "step"), e.train.batch_size,
           plural(e.train.batch_size, "image"), epochs_, epochs_ == "1" ? "epoch" : "epochs", info.folder.string());
  if (info.resumed) log_info("resumed at step {}", run_.step);
  if (!info.came_from.is_null()) {
    log_info("goes on from {} at step {}", printable(info.came_from.at("checkpoint").get<std::string>()), run_.step);
    for (const auto& change : info.came_from.at("changes")) log_info("  {}", printable(change.get<std::string>()));
  }
  if (info.last_step < run_.total) log_info("stops after step {}; --resume goes on from there", info.last_step);
  bar_ = std::make_unique<ProgressBar>("train", run_.total);
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
    log_info("step {}/{}  {}", line.step, run_.total, details_);
  }
}

void ConsoleHook::on_bad_sample(const BadSampleRecord& record) {
  log_warn("bad sample {}: {}; {}", printable(record.id), printable(record.reason),
           record.replaced_by.empty() ? "left out" : "replaced by " + printable(record.replaced_by));
}

void ConsoleHook::on_warning(int64_t, const std::string& text) {
  log_warn("{}", text);
}

void ConsoleHook::on_guard(const GuardEvent& event) {
  log_warn("{}", event.text);
}

// Early in a run an average may still be more of what it began with than of anything learned.
std::string ConsoleHook::averaged_text(int64_t step) const {
  const double left = ema_beginning_left(ema_, {step, run_.total, run_.steps_per_epoch});
  if (left <= kMostOfIt) return " of the averaged weights";
  return fmt::format(" of the averaged weights, {:.0f} % still those of step {}", 100 * left,
                     ema_.start.steps(run_.steps_per_epoch, run_.total));
}

void ConsoleHook::on_eval(const TrainState& state, double epoch, const EvalResult& result) {
  const bool shown = best_metric_ == "mean_iou" || best_metric_ == "pixel_accuracy";
  const std::string chosen =
      shown ? "" : fmt::format("  {} {:.4f}", printable(best_metric_), metric_value(best_metric_, classes_, result));
  log_info("eval at step {} (epoch {:.1f}){}: mean IoU {:.4f}  pixel accuracy {:.4f}{}  ({:.1f} img/s){}", state.step, epoch,
           result.averaged ? averaged_text(state.step) : "", result.report.mean_iou_present, result.report.pixel_accuracy,
           chosen, static_cast<double>(result.num_images) / std::max(result.seconds, 1e-9),
           state.best_step == state.step ? "  best" : "");
}

void ConsoleHook::on_end(const TrainState& state, const std::string& status) {
  bar_.reset();
  log_info("{} at step {} after {}", status, state.step, format_seconds(state.seconds));
}

}  // namespace tessera
