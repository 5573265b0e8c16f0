#include "train/weight_update.h"

#include <c10/core/GradMode.h>

#include "core/rank_status.h"
#include "optim/ema_schedule.h"
#include "optim/swa_schedule.h"
#include "tensor/too_large.h"

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
      average_(experiment.train.ema.enabled() || experiment.train.swa.enabled(), model, arena, optimizer_) {
  check_schedule(experiment.schedule);
}

void WeightUpdate::begin(const Progress& at) {
  if (average_at(at).runs && !average_.begun()) average_.begin();
}

AverageStep WeightUpdate::average_at(const Progress& at) const {
  const TrainConfig& train = experiment_.train;
  return train.swa.enabled() ? swa_at(train.swa, at) : ema_at(train.ema, at);
}

double WeightUpdate::step(const GradientNorm& gradient, const Progress& at) {
  const StepTrace::Span span(trace_, "optimizer");
  enter_phase(RankPhase::kOptimizer);
  const c10::NoGradGuard no_grad;
  const LrPoint lr = swa_lr_point_at(experiment_.train.swa, experiment_.optimizer.lr, experiment_.schedule, at);
  const AverageStep average = average_at(at);
  StepExtras extras{.scale = {gradient.clip_factor, scaler_.numbers()}};
  if (average.weight > 0) {
    extras.average = average_.params();
    extras.average_weight = average.weight;
  }
  if (!optimizer_.sharded()) extras.copies = working_.copies();  // else other ranks' weights come after the step
  optimizer_.step(arena_.params(), arena_.grads(), lr, momentum_at(experiment_.schedule, at), extras);  // takes memory first
  if (extras.copies.defined()) working_.copies_written();
  if (average.weight > 0) make_with_kept_memory([&] { return average_.follow_buffers(average.weight, gradient.clip_factor); });
  return lr_.at(lr);
}

}  // namespace tessera
