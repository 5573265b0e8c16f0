#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "tensor/step_context.h"

namespace tessera {

// Batch norm over units whose samples lie on several ranks; see Note [Who computes what].
struct SyncedStatistics {
  at::Tensor mean, var;  // (C) of a unit; var: biased, as it normalises
};

struct SyncedNorm {
  at::Tensor output;
  std::vector<SyncedStatistics> units;  // one for each segment
};

// x: (N, C, H, W), all of it in `segments`, which name rows of the exchange. One collective forward and one backward, in
// which all ranks take part. Sums travel in float64.
SyncedNorm synced_batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps,
                             const std::vector<NormSegment>& segments, int64_t rows, NormExchange& exchange);

}  // namespace tessera
