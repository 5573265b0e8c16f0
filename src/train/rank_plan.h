#pragma once
#include <vector>

#include "config/experiment.h"
#include "dist/batch_plan.h"
#include "dist/world.h"
#include "nn/model.h"

namespace tessera {

// Which samples of a global batch each rank of a world computes: Note [Who computes what], for an experiment and its model.
class RankPlan {
 public:
  // rank_weights: how much of the batch each rank gets; empty: the same.
  RankPlan(const Experiment& experiment, const SegmentationModel& model, const World& world, std::vector<double> rank_weights);

  const RankSlice& own() const { return own_; }
  int64_t unit() const { return options_.unit; }  // samples that share batch-norm statistics; 1 without batch norm

  // Batch-norm units lie on several ranks, so that forward passes are collective.
  bool spread() const { return spread_; }

  // Every rank whose passes this one takes part in has just one of them.
  bool one_pass_everywhere(int64_t micro_batch) const;

 private:
  RankSlice slice_of(int rank) const;

  BatchPlanOptions options_;
  int ranks_;
  int norm_ranks_;  // that share statistics, whatever the units; 0: units do
  RankSlice own_;
  bool spread_;
};

}  // namespace tessera
