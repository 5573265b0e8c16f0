#include "tensor/step_context.h"

#include <utility>

namespace tessera {
namespace {

StepContext& current() {
  thread_local StepContext context;
  return context;
}

}  // namespace

const StepContext& step_context() {
  return current();
}

StepContextGuard::StepContextGuard(StepContext context) : saved_(std::exchange(current(), std::move(context))) {}

StepContextGuard::~StepContextGuard() {
  current() = std::move(saved_);
}

}  // namespace tessera
