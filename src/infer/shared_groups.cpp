#include "infer/shared_groups.h"

#include "infer/eval_outcome.h"

namespace tessera {

SharedGroups::SharedGroups(World& world, const Predictor& predictor, int64_t num_samples, int64_t block)
    : world_(world), predictor_(predictor), block_(block), images_(world.control, (num_samples + block - 1) / block) {}

bool SharedGroups::takes(EvalGroup& group) {
  const int64_t block = group.truths[0].index / block_;
  if (!images_.wants(block, predictor_, group.images.height(), group.images.width())) return false;
  images_.add(std::move(group.images));
  truths_.push_back(std::move(group.truths));
  return true;
}

std::optional<SharedGroups::Turn> SharedGroups::next() {
  std::optional<SharedImages::Turn> turn = images_.next();
  if (!turn) return std::nullopt;
  // In the passes that follow ranks wait for one another, so that none of them may stop on its own.
  finish_alike(world_, [&] {
    if (predictor_.stop_asked()) throw PredictionStopped();
  });
  Turn group{std::move(turn->images), turn->team, {}};
  if (turn->team.leads()) group.truths = std::move(truths_[static_cast<size_t>(turn->number)]);
  return group;
}

}  // namespace tessera
