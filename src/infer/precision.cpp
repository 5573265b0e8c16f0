#include "infer/precision.h"

#include <torch/types.h>

namespace tessera {

at::ScalarType parameter_type(Precision precision) {
  return precision == Precision::kFp64 ? at::kDouble : at::kFloat;
}

at::ScalarType input_type(Precision precision) {
  if (precision == Precision::kBf16) return at::kBFloat16;
  return precision == Precision::kFp16 ? at::kHalf : parameter_type(precision);
}

AutocastScope::AutocastScope(Precision precision, c10::Device device)
    : active_(precision == Precision::kBf16 || precision == Precision::kFp16), type_(device.type()) {
  if (!active_) return;
  at::autocast::set_autocast_enabled(type_, true);
  at::autocast::set_autocast_dtype(type_, precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();  // else stale casts of the weights would be used
  at::autocast::set_autocast_enabled(type_, false);
}

KeptCasts::KeptCasts() {
  at::autocast::increment_nesting();
}
KeptCasts::~KeptCasts() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

LossScaler::LossScaler(Precision precision, at::Device device)
    : enabled_(precision == Precision::kFp16),
      numbers_(at::empty({kLossScalingNumbers}, at::TensorOptions(device).dtype(at::kDouble))) {
  restore({});
}

at::Tensor LossScaler::scaled(const at::Tensor& loss) const {
  return enabled() ? loss * numbers_[0].to(loss.scalar_type()) : loss;
}

LossScaling LossScaler::read() const {
  const at::Tensor numbers = numbers_.cpu();
  return *reinterpret_cast<const LossScaling*>(numbers.const_data_ptr<double>());
}

void LossScaler::restore(const LossScaling& given) {
  LossScaling scaling = given;
  scaling.adapts = enabled_ ? 1 : 0;
  if (!enabled_) scaling.scale = 1;
  numbers_.copy_(at::tensor(
      {scaling.scale, scaling.good_steps, scaling.applied_steps, scaling.skipped_steps, scaling.adapts, scaling.held},
      at::kDouble));
}

void LossScaler::release() {
  LossScaling scaling = read();
  scaling.skipped_steps += scaling.held;
  scaling.held = 0;
  restore(scaling);
}

}  // namespace tessera
