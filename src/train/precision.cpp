#include "train/precision.h"

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

void LossScaler::restore(double scale, int64_t good_steps) {
  scale_ = scale;
  good_steps_ = good_steps;
}

void LossScaler::update(bool finite) {
  constexpr int64_t kGrowthInterval = 2000;
  if (!enabled_) return;
  if (!finite) {
    scale_ *= 0.5;
    good_steps_ = 0;
  } else if (++good_steps_ == kGrowthInterval) {
    scale_ *= 2.0;
    good_steps_ = 0;
  }
}

}  // namespace tessera
