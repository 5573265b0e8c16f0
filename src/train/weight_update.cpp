#include "train/weight_update.h"

#include <c10/core/GradMode.h>

#include "core/rank_status.h"
#include "infer/too_large.h"

namespace tessera {

WeightUpdate::WeightUpdate(const Experiment& experiment, SegmentationModel& model, Communicator& ranks, Arena& arena,
                           WorkingWeights& working, LossScaler& scaler, StepTrace& trace, bool sharded)
    : experiment_(experiment),
      arena_(arena),
      working_(working),
      scaler_(scaler),
      trace_(trace),
      lr_(lr_range(experiment.optimizer, experiment.schedule, experiment.train.batch_size)),
      optimizer_(experiment.optimizer, lr_, arena.spans(), arena.params(), ranks, sharded),
      average_(experiment.train.ema, model, arena, optimizer_) {
  check_schedule(experiment.schedule);
}

void WeightUpdate::begin(const Progress& at) {
  const EmaStep ema = ema_at(experiment_.train.ema, at);
  if (ema.runs && !average_.begun()) average_.begin();
}

double WeightUpdate::step(const GradientNorm& gradient, const Progress& at) {
  const StepTrace::Span span(trace_, "optimizer");
  enter_phase(RankPhase::kOptimizer);
  const c10::NoGradGuard no_grad;
  const LrPoint lr = lr_point_at(experiment_.schedule, at);
  const EmaStep ema = ema_at(experiment_.train.ema, at);
  StepExtras extras{.scale = {gradient.clip_factor, scaler_.numbers()}};
  if (ema.ema_weight > 0) {
    extras.average = average_.params();
    extras.average_weight = ema.ema_weight;
  }
  if (!optimizer_.sharded()) extras.copies = working_.copies();  // else other ranks' weights come after the step
  optimizer_.step(arena_.params(), arena_.grads(), lr, momentum_at(experiment_.schedule, at), extras);  // takes memory first
  if (extras.copies.defined()) working_.copies_written();
  if (ema.ema_weight > 0) make_with_kept_memory([&] { return average_.follow_buffers(ema.ema_weight, gradient.clip_factor); });
  return lr_.at(lr);
}

}  // namespace tessera
