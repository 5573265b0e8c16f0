#include "infer/evaluator.h"

#include <chrono>
#include <optional>

#include "core/cpu_budget.h"
#include "core/memory_limit.h"
#include "infer/eval_groups.h"
#include "infer/overlapped_counter.h"
#include "infer/precision.h"
#include "infer/shared_groups.h"
#include "tensor/too_large.h"

namespace tessera {

Evaluator::Evaluator(const Experiment& experiment, DatasetPtr dataset, World& world, Split transforms)
    : samples_(experiment, std::move(dataset), transforms),
      counting_(counting_of(experiment.eval, samples_.classes())),
      quarantine_(samples_.size(), experiment.data.max_bad_share),
      world_(world),
      threads_(loader_threads(experiment.data.threads, world.spec.local_world_size)),
      block_(experiment.eval.batch_size > 0 ? experiment.eval.batch_size : experiment.train.batch_size) {
  for (int64_t i = 0; i < samples_.size(); ++i) {
    if (i / block_ % world.size() == world.rank()) own_.push_back(i);
  }
}

EvalResult Evaluator::run(const Predictor& predictor, const std::function<void(int64_t)>& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const KeptCasts kept;
  predictor.try_all_again();
  std::optional<OverlappedCounter> counter;
  std::optional<SharedGroups> shared;
  std::optional<EvalGroups> groups;
  const auto count_own = [&] {
    groups.reset();
    shared.emplace(world_, predictor, samples_.size(), block_);
    counter.emplace(counting_, predictor.device());
    groups.emplace(samples_, own_, quarantine_,
                   EvalGroupOptions{.block = block_,
                                    .threads = threads_,
                                    .max_bytes = memory_for_reading_ahead(world_.spec.local_world_size),
                                    .device = predictor.device(),
                                    .on_sample = progress,
                                    .before_reload = [&] { counter->wait(); }});
    while (auto group = groups->next()) {
      if (shared->takes(*group)) continue;
      counter->add(std::move(group->truths), predictor.class_maps(group->images));
    }
    counter->wait();
  };
  // What does not fit is computed in smaller parts where the predictor can do that; elsewhere all is done again, once.
  finish_alike(world_, [&] { make_with_kept_memory(count_own); });
  while (auto turn = shared->next()) {
    finish_alike(world_, [&] {
      if (!turn->has_part()) return;
      std::vector<at::Tensor> maps = predictor.class_maps(turn->images, turn->team);
      if (turn->team.leads()) counter->add(std::move(turn->truths), std::move(maps));
    });
  }
  finish_alike(world_, [&] { counter->wait(); });

  EvalResult result = make_with_kept_memory([&] { return counter->result(); });
  result.num_bad = groups->num_bad();
  result.windows_for_memory = predictor.windows_for_memory();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace tessera
