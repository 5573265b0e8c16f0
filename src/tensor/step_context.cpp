#include "tensor/step_context.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

StepContext& current() {
  thread_local StepContext context;
  return context;
}

}  // namespace

std::vector<NormSegment> norm_segments(int64_t count, int64_t group) {
  std::vector<NormSegment> segments;
  for (int64_t begin = 0; begin < count; begin += group) {
    const int64_t end = std::min(begin + group, count);
    segments.push_back({.begin = begin, .end = end, .unit = begin / group, .unit_size = end - begin});
  }
  return segments;
}

const StepContext& step_context() {
  return current();
}

StepContextGuard::StepContextGuard(StepContext context) : saved_(std::exchange(current(), std::move(context))) {}

StepContextGuard::~StepContextGuard() {
  current() = std::move(saved_);
}

}  // namespace tessera
