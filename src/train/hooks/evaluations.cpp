#include "train/hooks/evaluations.h"

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "infer/image_scores.h"

namespace tessera {

void EvaluationsHook::on_start(const RunInfo& info) {
  folder_ = info.folder / "evaluations";
  access_ = info.access;
  classes_ = info.classes;
}

void EvaluationsHook::on_eval(const TrainState& state, double /*epoch*/, const EvalResult& result) {
  const EvaluatedImages evaluated{
      .classes = classes_.names, .overlap = classes_.multi_label, .step = state.step, .data = "val", .images = result.images};
  try {
    make_folders(folder_, access_);
    write_evaluated_images(folder_ / "last.json", evaluated, access_);
    if (state.best_step == state.step) write_evaluated_images(folder_ / "best.json", evaluated, access_);
  } catch (const Error& e) {
    log_warn("what was counted in each image is not kept: {}", e.what());
  }
}

}  // namespace tessera
