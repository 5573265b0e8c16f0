#include "dist/tune_exchange.h"

#include <torch/types.h>

#include <algorithm>
#include <vector>

#include "core/clock.h"

namespace tessera {

DistConfig tune_exchange(GradientReducer& reducer, Communicator& communicator, const DistConfig& config, bool may_round,
                         const std::function<void(const DistConfig&, double milliseconds)>& tried) {
  constexpr int kRounds = 3;
  DistConfig best = config;
  double best_ms = 1e300;
  std::vector<Compression> compressions{config.compression};
  if (may_round && config.compression == Compression::kNone) compressions.push_back(Compression::kBf16);
  for (const Compression compression : compressions) {
    for (const double bucket_mb : {1.0, 4.0, 8.0, 25.0, 100.0}) {
      DistConfig candidate = config;
      candidate.compression = compression;
      candidate.bucket_mb = bucket_mb;
      reducer.set_exchange(candidate);
      double ms = 1e300;
      for (int round = 0; round < kRounds; ++round) {
        communicator.barrier();
        const double begin = monotonic_s();
        reducer.finish();
        ms = std::min(ms, 1e3 * (monotonic_s() - begin));
      }
      at::Tensor slowest = at::scalar_tensor(ms, at::kDouble);
      communicator.max(slowest);
      ms = slowest.item<double>();
      tried(candidate, ms);
      // Rounding is worth a clear gain only.
      if (ms < best_ms * (compression == best.compression ? 1.0 : 0.9)) {
        best_ms = ms;
        best = candidate;
      }
    }
  }
  reducer.set_exchange(best);
  return best;
}

}  // namespace tessera
