#include "loss/dice.h"

#include <ATen/ATen.h>

namespace tessera {

OverlapLoss DiceTerm::loss_of(const OverlapSums& sums, const at::Tensor& class_weight) const {
  const at::Tensor numerator = 2 * sums.intersection + smooth_;
  const at::Tensor denominator = sums.labelled + sums.predicted + smooth_;
  return {.value = (class_weight * (1 - numerator / denominator)).sum(),
          .by_intersection = -2 * class_weight / denominator,
          .by_predicted = class_weight * numerator / denominator.square()};
}

}  // namespace tessera
