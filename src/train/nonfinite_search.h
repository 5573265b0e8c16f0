#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dist/world.h"
#include "nn/model.h"
#include "train/arena.h"
#include "train/gradient_computation.h"
#include "train/step_inputs.h"

namespace tessera {

// Where the numbers of a step first were not finite, on a rank.
inline constexpr int64_t kNoCause = std::numeric_limits<int64_t>::max();
struct NonFiniteCause {
  int64_t order = kNoCause;        // how early in the step, to compare ranks by; kNoCause: nothing was found
  std::string place = {};          // "the output of backbone.layer1.0.conv1 (aten::convolution)"
  std::vector<int64_t> rows = {};  // of the batch; empty: not known
};

// What is computed once more to find them, in a scope of working weights; nothing that lasts is changed. Collectives, and slow.
class NonFiniteSearch {
 public:
  NonFiniteSearch(GradientComputation& gradients, const SegmentationModel& model, Arena& arena, World& world)
      : gradients_(gradients), model_(model), arena_(arena), world_(world) {}

  NonFiniteCause cause(const StepInputs& inputs);

 private:
  NonFiniteCause in_forward(const StepInputs& inputs);
  NonFiniteCause in_gradient(const StepInputs& inputs);

  GradientComputation& gradients_;
  const SegmentationModel& model_;
  Arena& arena_;
  World& world_;
};

}  // namespace tessera
