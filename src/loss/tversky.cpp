#include "loss/tversky.h"

#include <ATen/ATen.h>

namespace tessera {
namespace {

// Smaller misses count as this one: with gamma below 1 the derivative of miss^gamma is infinite at 0.
constexpr double kSmallestMiss = 1e-30;

}  // namespace

OverlapLoss TverskyTerm::loss_of(const OverlapSums& sums, const at::Tensor& class_weight) const {
  const double alpha = options_.alpha, beta = options_.beta, gamma = options_.gamma, smooth = options_.smooth;
  const at::Tensor found = sums.intersection + smooth;
  const at::Tensor all = (1 - alpha - beta) * sums.intersection + alpha * sums.predicted + beta * sums.labelled + smooth;
  at::Tensor miss = 1 - found / all, slope = class_weight;
  if (gamma != 1) {
    const at::Tensor misses = miss.gt(kSmallestMiss);
    miss = miss.clamp_min(kSmallestMiss);
    slope = class_weight * gamma * miss.pow(gamma - 1) * misses;
  }
  return {.value = (class_weight * miss.pow(gamma)).sum(),
          .by_intersection = slope * ((1 - alpha - beta) * found / all.square() - all.reciprocal()),
          .by_predicted = slope * alpha * found / all.square()};
}

}  // namespace tessera
