#include "train/rank_plan.h"

#include <algorithm>

#include "nn/blocks/batch_norm.h"

namespace tessera {
namespace {

bool has_batch_norm(const SegmentationModel& model) {
  const auto modules = model.modules(/*include_self=*/false);
  return std::any_of(modules.begin(), modules.end(),
                     [](const auto& module) { return dynamic_cast<const BatchNorm2dImpl*>(module.get()) != nullptr; });
}

int ranks_of_a_norm(const DistConfig& config, const World& world) {
  if (world.alone() || config.norm_scope == NormScope::kUnit) return 0;
  return config.norm_scope == NormScope::kNode ? world.spec.local_world_size : 1;
}

}  // namespace

RankPlan::RankPlan(const Experiment& experiment, const SegmentationModel& model, const World& world,
                   std::vector<double> rank_weights)
    : options_{experiment.train.batch_size,
               has_batch_norm(model) ? std::min(experiment.train.norm_group, experiment.train.batch_size) : 1,
               experiment.train.micro_batch.samples,
               rank_weights.empty() ? std::vector<double>(static_cast<size_t>(world.size()), 1.0) : std::move(rank_weights)},
      ranks_(world.size()),
      norm_ranks_(ranks_of_a_norm(experiment.dist, world)),
      own_(slice_of(world.rank())),
      spread_(std::any_of(own_.rounds.begin(), own_.rounds.end(), [](const Round& round) { return round.rows > 0; })) {}

RankSlice RankPlan::slice_of(int rank) const {
  return norm_ranks_ == 0 ? plan_slice(options_, rank) : plan_slice_by_group(options_, norm_ranks_, rank);
}

bool RankPlan::one_pass_everywhere(int64_t micro_batch) const {
  if (!spread_) return own_.passes(micro_batch).size() == 1;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (slice_of(rank).passes(micro_batch).size() != 1) return false;
  }
  return true;
}

}  // namespace tessera
