#include "train/hooks/record.h"

#include <cmath>

#include "data/decode/png_writer.h"
#include "infer/eval_metrics.h"

namespace tessera {

using nlohmann::json;

void RunLogHook::on_start(const RunInfo& info) {
  log_ = std::make_unique<RunLog>(info.folder / "log.jsonl", info.access);
  classes_ = info.classes;
  if (info.resumed) {
    log_->event(
        "resume",
        {{"step", info.progress.step}, {"device", info.device}, {"best_metric", info.experiment.checkpoint.best_metric}});
  } else {
    json fields{{"model", info.experiment.model.name},
                {"parameters", info.num_parameters},
                {"device", info.device},
                {"total_steps", info.progress.total},
                {"steps_per_epoch", info.progress.steps_per_epoch},
                {"best_metric", info.experiment.checkpoint.best_metric},
                {"train_images", info.num_train},
                {"val_images", info.num_val}};
    if (!info.came_from.is_null()) fields["from"] = info.came_from;
    log_->event("start", std::move(fields));
  }
}

void RunLogHook::on_log(const LogLine& l) {
  json fields{{"step", l.step},
              {"epoch", l.epoch},
              {"loss", l.loss},
              {"lr", l.lr},
              {"grad_norm", l.grad_norm},
              {"images_per_s", l.images_per_s},
              {"data_wait", l.data_wait},
              {"memory_mb", l.memory_mb},
              {"skipped_steps", l.skipped_steps}};
  if (l.exchange_ms > 0) {
    fields["exchange_ms"] = l.exchange_ms;
    fields["exchange_wait_ms"] = l.exchange_wait_ms;
  }
  log_->event("train", std::move(fields));
}

void RunLogHook::on_bad_sample(const BadSampleRecord& record) {
  log_->event("bad_sample", {{"id", record.id}, {"reason", record.reason}, {"replaced_by", record.replaced_by}});
}

void RunLogHook::on_warning(int64_t step, const std::string& text) {
  log_->event("warning", {{"step", step}, {"text", text}});
}

void RunLogHook::on_guard(const GuardEvent& event) {
  json fields{{"step", event.step}, {"action", event.action},   {"text", event.text},          {"place", event.place},
              {"loss", event.loss}, {"samples", event.samples}, {"grad_norm", event.grad_norm}};
  if (event.back_to >= 0) fields["back_to"] = event.back_to;
  log_->event("guard", std::move(fields));
}

void RunLogHook::on_eval(const TrainState& state, double epoch, const EvalResult& result) {
  json fields = eval_json(classes_, result);
  fields["step"] = state.step;
  fields["epoch"] = epoch;
  fields["averaged"] = result.averaged;
  log_->event("eval", std::move(fields));
}

void RunLogHook::on_checkpoint(const TrainState& state) {
  log_->event("checkpoint", {{"step", state.step}, {"path", "checkpoints/" + checkpoint_name(state.step)}});
}

void RunLogHook::on_end(const TrainState& state, const std::string& status) {
  log_->event("end", {{"status", status}, {"step", state.step}, {"seconds", state.seconds}});
}

void TensorBoardHook::on_start(const RunInfo& info) {
  classes_ = info.classes;
  writer_ = std::make_unique<TensorBoardWriter>(
      info.folder / "tensorboard", info.resumed ? std::optional(info.progress.step + 1) : std::nullopt, info.access);
  if (!info.resumed) writer_->text("config", "```yaml\n" + experiment_yaml(info.experiment) + "```", 0);
}

void TensorBoardHook::on_log(const LogLine& l) {
  writer_->scalar("train/loss", l.loss, l.step);
  writer_->scalar("train/lr", l.lr, l.step);
  writer_->scalar("train/grad_norm", l.grad_norm, l.step);
  writer_->scalar("speed/images_per_s", l.images_per_s, l.step);
  writer_->scalar("speed/data_wait", l.data_wait, l.step);
  writer_->scalar("speed/memory_mb", l.memory_mb, l.step);
}

void TensorBoardHook::on_guard(const GuardEvent& event) {
  if (event.action != "spike") writer_->scalar("guard/steps_lost", static_cast<double>(event.steps_lost), event.step);
  writer_->text("guard", event.text, event.step);
  writer_->flush();
}

void TensorBoardHook::on_eval(const TrainState& state, double, const EvalResult& result) {
  for (const auto& [name, value] : mean_metrics(result)) writer_->scalar("val/" + name, value, state.step);
  for (const auto& [name, value] : metrics_by_class(classes_, result)) {
    if (std::isfinite(value)) writer_->scalar("val/" + name, value, state.step);  // else the class has no curve
  }
  if (!result.confusion.empty())
    picture("val/confusion_matrix", draw_confusion(result.confusion, static_cast<int>(result.report.classes.size())),
            state.step);
  writer_->flush();
}

void TensorBoardHook::on_pictures(const TrainState& state, const std::vector<DrawnPrediction>&,
                                  const std::vector<DrawnPrediction>& worst) {
  for (size_t i = 0; i < worst.size(); ++i) picture(fmt::format("predictions/worst_{}", i), worst[i].picture, state.step);
  writer_->flush();
}

void TensorBoardHook::picture(const std::string& tag, const Image& drawn, int64_t step) {
  writer_->image(tag, encode_png(drawn), drawn.size().height, drawn.size().width, step);
}

void TensorBoardHook::on_end(const TrainState&, const std::string&) {
  writer_->flush();
}

}  // namespace tessera
